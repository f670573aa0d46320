"""What a terminal shows while a run goes on; where there is none, a line now and then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from turnout_load.report.units import milliseconds, number, seconds

Percentiles = tuple[float, float, float]
"""p50, p95 and p99, in milliseconds."""

LINE_EVERY_S = 10.0
LATE_MS = 10.0
"""Requests sent later than this after their time are the client's fault."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as it stands; rates are per second, and percentiles those of the latest requests."""

    elapsed_s: float
    planned_s: float | None
    sent: int
    ok: int
    failed: int
    in_flight: int
    rate_intended: float
    rate_finished: float
    output_tokens_per_s: float
    ttft_ms: Percentiles | None
    itl_ms: Percentiles | None
    e2e_ms: Percentiles | None
    send_delay_p99_ms: float
    errors: dict[str, int] = field(default_factory=dict)
    """Failures by kind."""


def merge(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Returns the sum of several processes' snapshots; raises ValueError if there are none.

    Percentiles are means weighted by whole answers: near the truth because every process sends its
    share of one plan. The final result takes them from all requests instead.
    """
    parts = list(snapshots)
    return Snapshot(
        elapsed_s=max(part.elapsed_s for part in parts),
        planned_s=max((p.planned_s for p in parts if p.planned_s is not None), default=None),
        sent=sum(part.sent for part in parts),
        ok=sum(part.ok for part in parts),
        failed=sum(part.failed for part in parts),
        in_flight=sum(part.in_flight for part in parts),
        rate_intended=sum(part.rate_intended for part in parts),
        rate_finished=sum(part.rate_finished for part in parts),
        output_tokens_per_s=sum(part.output_tokens_per_s for part in parts),
        ttft_ms=_weighted(parts, lambda part: part.ttft_ms),
        itl_ms=_weighted(parts, lambda part: part.itl_ms),
        e2e_ms=_weighted(parts, lambda part: part.e2e_ms),
        send_delay_p99_ms=max(part.send_delay_p99_ms for part in parts),
        errors=dict(sum((Counter(part.errors) for part in parts), Counter())),
    )


def _weighted(
    parts: Iterable[Snapshot], of: Callable[[Snapshot], Percentiles | None]
) -> Percentiles | None:
    known = [(max(1, part.ok), values) for part in parts if (values := of(part)) is not None]
    if not known:
        return None
    total = sum(weight for weight, _ in known)
    p50, p95, p99 = (sum(w * values[each] for w, values in known) / total for each in range(3))
    return p50, p95, p99


def view(snapshot: Snapshot) -> RenderableType:
    """Returns what the terminal shows: progress, counts, rates, percentiles, errors."""
    parts = [_progress(snapshot), Text(), _counts(snapshot), Text(), _latencies(snapshot)]
    if snapshot.errors:
        parts += [Text(), _errors(snapshot.errors)]
    return Group(*parts)


def line(snapshot: Snapshot) -> str:
    """Returns the same in one line of plain text, for logs."""
    parts = [
        _time(snapshot),
        f"sent {snapshot.sent:,}, ok {snapshot.ok:,}, failed {snapshot.failed:,}, "
        f"in flight {snapshot.in_flight:,}",
        f"{number(snapshot.rate_finished)}/s of {number(snapshot.rate_intended)}/s",
    ]
    for name, percentiles in _rows(snapshot):
        if percentiles:
            p50, p95, _ = percentiles
            parts.append(f"{name} p50 {milliseconds(p50)}, p95 {milliseconds(p95)}")
    parts += [f"{kind}: {count:,}" for kind, count in snapshot.errors.items()]
    return " | ".join(parts)


def _time(snapshot: Snapshot) -> str:
    if snapshot.planned_s is None:
        return seconds(round(snapshot.elapsed_s))
    return f"{seconds(round(snapshot.elapsed_s))} of {seconds(snapshot.planned_s)}"


def _progress(snapshot: Snapshot) -> RenderableType:
    if snapshot.planned_s is None:
        return Text(_time(snapshot), "bold")
    grid = Table.grid(padding=(0, 2))
    bar = ProgressBar(snapshot.planned_s, min(snapshot.elapsed_s, snapshot.planned_s), width=40)
    waits = snapshot.elapsed_s > snapshot.planned_s and snapshot.in_flight
    grid.add_row(
        Text(_time(snapshot), "bold"), bar, "waiting for the last answers" if waits else ""
    )
    return grid


def _counts(snapshot: Snapshot) -> Table:
    grid = Table.grid(padding=(0, 3))
    grid.add_row(
        f"sent {snapshot.sent:,}",
        Text(f"ok {snapshot.ok:,}", "green"),
        Text(f"failed {snapshot.failed:,}", "bold red" if snapshot.failed else "dim"),
        f"in flight {snapshot.in_flight:,}",
    )
    grid.add_row(
        f"{number(snapshot.rate_intended)}/s intended",
        f"{number(snapshot.rate_finished)}/s finished",
        f"{number(snapshot.output_tokens_per_s)} tokens/s",
        Text(
            f"send delay p99 {milliseconds(snapshot.send_delay_p99_ms)}",
            "bold yellow" if snapshot.send_delay_p99_ms > LATE_MS else "",
        ),
    )
    return grid


def _rows(snapshot: Snapshot) -> list[tuple[str, Percentiles | None]]:
    return [("TTFT", snapshot.ttft_ms), ("ITL", snapshot.itl_ms), ("E2E", snapshot.e2e_ms)]


def _latencies(snapshot: Snapshot) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("")
    for name in ("p50", "p95", "p99"):
        table.add_column(name, justify="right", min_width=10)
    for name, percentiles in _rows(snapshot):
        table.add_row(name, *(milliseconds(each) for each in percentiles or (None, None, None)))
    return table


def _errors(errors: dict[str, int]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for kind, count in sorted(errors.items(), key=lambda item: -item[1]):
        grid.add_row(Text(f"{count:,}", "bold red", justify="right"), Text(kind))
    return grid


class LiveView:
    """Shows snapshots while entered: redrawn on a terminal, else a line every 10 s at most."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        self._live: Live | None = None
        self._latest: Snapshot | None = None
        self._printed: Snapshot | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:  # redrawn by update(): no thread beside the measurement
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def update(self, snapshot: Snapshot) -> None:
        """Shows a snapshot."""
        self._latest = snapshot
        if self._live is not None:
            self._live.update(view(snapshot), refresh=True)
        elif snapshot.elapsed_s - (self._printed.elapsed_s if self._printed else 0) >= LINE_EVERY_S:
            self._print(snapshot)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._latest is not None and self._latest is not self._printed:
            self._print(self._latest)

    def _print(self, snapshot: Snapshot) -> None:
        self._printed = snapshot
        self._console.print(line(snapshot), markup=False, highlight=False, soft_wrap=True)
