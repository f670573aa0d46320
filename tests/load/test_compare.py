"""Two sides get the same requests in turn, and only what both answered is compared."""

import pytest
from msgspec.structs import replace

from turnout_load.compare import compare, joined, paired, rounds, side
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.spec import Spec, Target, Workload
from turnout_load.summarize import Facts

TARGET = Target(url="http://gw/v1", model="m")
SPEC = Spec(target=TARGET, requests=10, seed=5)
FACTS = Facts(
    started_at="2026-01-01T00:00:00+00:00",
    duration_s=2.0,
    was_stopped=False,
    environment={},
    processes=1,
    cpu_share=0.1,
    connections_opened=1,
    peak_in_flight=1,
    peak_memory_mib=1.0,
)


def answered(index: int, ttft_ms: float, model: str = "m", error: str = "") -> Record:
    first_ns = round(ttft_ms * 1e6)
    return Record(
        index,
        sent_ns=0,
        first_ns=first_ns,
        last_ns=first_ns,
        end_ns=first_ns + 1,
        status=200,
        chunks=1,
        input_tokens=1_000_000,
        output_tokens=0,
        model=model,
        error=error,
    )


def of(*records: Record) -> Records:
    kept = Records()
    for record in records:
        kept.append(record)
    return kept


@pytest.mark.parametrize(
    ("text", "url", "model"),
    [
        ("large", "http://gw/v1", "large"),
        ("http://b/v1", "http://b/v1", "m"),
        ("http://b/v1#small", "http://b/v1", "small"),
    ],
)
def test_a_side_is_a_model_an_address_or_both(text: str, url: str, model: str) -> None:
    made = side(text, TARGET)
    assert (made.target.url, made.target.model) == (url, model)


def test_rounds_go_on_in_the_dataset_and_sides_get_the_same() -> None:
    a, b = side("a", TARGET), side("b", TARGET)
    made = list(rounds(replace(SPEC, workload=Workload(skip=3)), (a, b), 3))
    assert [(x.workload.skip, x.seed) for x, _ in made] == [(3, 5), (13, 6), (23, 7)]
    assert all(replace(x, target=TARGET) == replace(y, target=TARGET) for x, y in made)
    assert {(x.target.model, y.target.model) for x, y in made} == {("a", "b")}


def test_who_goes_first_alternates() -> None:
    asked: list[str] = []

    def run(spec: Spec) -> tuple[Records, Facts]:
        asked.append(spec.target.model)
        return of(answered(0, 10)), FACTS

    compare(SPEC, (side("a", TARGET), side("b", TARGET)), 3, run)
    assert asked == ["a", "b", "b", "a", "a", "b"]


def test_what_one_side_failed_is_left_out_of_the_pairs() -> None:
    a = of(answered(0, 10), answered(1, 20), answered(2, 30, error="timeout"))
    b = of(answered(1, 10), answered(0, 5, error="closed"), answered(2, 15))
    assert [(x.index, y.index) for x, y in paired([a], [b])] == [(1, 1)]


def test_a_side_twice_as_fast_and_half_as_dear_is_found() -> None:
    def run(spec: Spec) -> tuple[Records, Facts]:
        scale = 1 if spec.target.model == "a" else 0.5
        times = [(number, (10 + number) * scale) for number in range(10)]
        return of(*(answered(n, t, model=spec.target.model) for n, t in times)), FACTS

    spec = replace(SPEC, price={"a": "2/2", "b": "1/1"})
    found, of_a, of_b = compare(spec, (side("a", TARGET), side("b", TARGET)), 4, run)
    by_name = {each.name: each for each in found.metrics}
    assert by_name["ttft.p50"].difference_percent == pytest.approx(-50)
    assert by_name["ttft.p50"].verdict == "B is 50.0% ± 0.0% faster at p50 TTFT"
    assert by_name["cost.mean"].a == pytest.approx(2.0)  # a million tokens at 2 USD a million
    assert by_name["cost.mean"].difference_percent == pytest.approx(-50)
    assert found.share_by_model == {"a": (1, 0), "b": (0, 1)}
    assert (found.pairs, len(of_a), len(of_b)) == (40, 40, 40)


def test_rounds_follow_one_another_in_the_joined_run() -> None:
    first = of(answered(0, 10), answered(1, 20))
    whole = joined([first, of(answered(0, 5))], warm_up_ns=0)
    assert [record.intended_ns for record in whole] == [0, 0, 20_000_001]
    assert [record.end_ns for record in whole] == [10_000_001, 20_000_001, 25_000_002]
