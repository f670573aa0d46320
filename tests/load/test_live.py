import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from turnout_load.live import LiveView, Snapshot, line, merge, view

HALFWAY = Snapshot(
    elapsed_s=10.4,
    planned_s=20.0,
    sent=1083,
    ok=1075,
    failed=3,
    in_flight=5,
    rate_intended=104.0,
    rate_finished=103.5,
    output_tokens_per_s=6620.0,
    ttft_ms=(50.1, 61.0, 80.0),
    itl_ms=None,
    e2e_ms=(610.0, 800.0, 12_000.0),
    send_delay_p99_ms=0.2,
    errors={"timeout": 1, "http 503": 2},
)


def shown(snapshot: Snapshot) -> list[str]:
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as capture:
        console.print(view(snapshot))
    return [" ".join(row.split()) for row in capture.get().splitlines()]


def test_the_view_shows_progress_rates_percentiles_and_errors() -> None:
    rows = shown(HALFWAY)
    assert rows[0].startswith("10 s of 20 s")
    assert "sent 1,083 ok 1,075 failed 3 in flight 5" in rows
    assert "104/s intended 104/s finished 6,620 tokens/s send delay p99 0.20 ms" in rows
    assert "TTFT 50.1 ms 61.0 ms 80.0 ms" in rows
    assert "ITL – – –" in rows  # noqa: RUF001
    assert "E2E 610 ms 800 ms 12.0 s" in rows
    assert rows[-2:] == ["2 http 503", "1 timeout"]


def test_a_run_without_an_end_shows_how_long_it_has_gone_on() -> None:
    assert shown(replace(HALFWAY, planned_s=None))[0] == "10 s"


def test_waiting_for_the_last_answers_is_said() -> None:
    assert "waiting for the last answers" in shown(replace(HALFWAY, elapsed_s=21.0))[0]
    assert "waiting" not in shown(replace(HALFWAY, elapsed_s=21.0, in_flight=0))[0]


@pytest.mark.parametrize(("delay_ms", "is_marked"), [(9.0, False), (11.0, True)])
def test_a_client_that_is_late_is_marked(delay_ms: float, is_marked: bool) -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        console.print(view(replace(HALFWAY, send_delay_p99_ms=delay_ms)))
    assert ("\x1b[1;33msend delay" in capture.get()) is is_marked


def test_errors_are_never_read_as_markup() -> None:
    odd = replace(HALFWAY, errors={"http [bold]": 1})
    assert shown(odd)[-1] == "1 http [bold]"


def test_a_line_says_the_same() -> None:
    assert line(HALFWAY) == (
        "10 s of 20 s | sent 1,083, ok 1,075, failed 3, in flight 5 | 104/s of 104/s | "
        "TTFT p50 50.1 ms, p95 61.0 ms | E2E p50 610 ms, p95 800 ms | timeout: 1 | http 503: 2"
    )


def test_processes_are_added_up() -> None:
    other = replace(
        HALFWAY,
        elapsed_s=10.6,
        ok=3225,
        rate_finished=50.0,
        ttft_ms=(90.1, 101.0, 120.0),
        itl_ms=(7.0, 8.0, 9.0),
        send_delay_p99_ms=4.0,
        errors={"timeout": 4},
    )
    both = merge([HALFWAY, other])
    assert both.elapsed_s == 10.6
    assert both.planned_s == 20.0
    assert (both.sent, both.ok, both.failed, both.in_flight) == (2166, 4300, 6, 10)
    assert both.rate_finished == 153.5
    # 1,075 answers weigh a quarter, 3,225 three quarters
    assert both.ttft_ms == pytest.approx((80.1, 91.0, 110.0))
    assert both.itl_ms == (7.0, 8.0, 9.0)
    assert both.send_delay_p99_ms == 4.0
    assert both.errors == {"timeout": 5, "http 503": 2}


def test_one_process_is_itself() -> None:
    assert merge([HALFWAY]) == HALFWAY
    nothing_yet = replace(HALFWAY, planned_s=None, ok=0, ttft_ms=None, e2e_ms=None, errors={})
    assert merge([nothing_yet]) == nothing_yet


def test_no_process_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        merge([])


@pytest.fixture
def printed() -> Callable[[list[float]], list[str]]:
    def of(times_s: list[float]) -> list[str]:
        out = io.StringIO()
        with LiveView(Console(file=out, width=40)) as live:
            for time_s in times_s:
                live.update(replace(HALFWAY, elapsed_s=time_s, planned_s=None))
        return [row.split(" |")[0] for row in out.getvalue().splitlines()]

    return of


def test_without_a_terminal_a_line_comes_every_10_s_and_at_the_end(
    printed: Callable[[list[float]], list[str]],
) -> None:
    assert printed([0.5, 9, 10, 11, 19, 20, 31, 32]) == ["10 s", "20 s", "31 s", "32 s"]
    assert printed([0.5, 10]) == ["10 s"]
    assert printed([]) == []


def test_on_a_terminal_the_view_is_redrawn_in_place() -> None:
    out = io.StringIO()
    with LiveView(Console(file=out, width=100, height=30, force_terminal=True)) as live:
        live.update(HALFWAY)
        live.update(replace(HALFWAY, sent=1084))
    assert "sent 1,083" in out.getvalue()
    assert "\x1b[2K" in out.getvalue()  # erases the lines it draws anew
    assert out.getvalue().rindex("sent 1,084") > out.getvalue().rindex("sent 1,083")


def test_the_terminal_is_given_back_when_the_run_fails() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, height=30, force_terminal=True)

    def fails() -> None:
        with LiveView(console) as live:
            live.update(HALFWAY)
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        fails()
    assert out.getvalue().endswith("\x1b[?25h")  # the cursor is shown again
