"""What the charts show, as plain numbers: distributions, and a run cut into intervals."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

from turnout_load.metrics.metric import S
from turnout_load.metrics.ttft import ttft_ms
from turnout_load.record import UNKNOWN
from turnout_load.records import Records
from turnout_load.result import Distribution
from turnout_load.stats.percentiles import PERCENTILES, Ascending, quantile
from turnout_load.summarize import UNFINISHED

Point = tuple[float, float]
MOST_POINTS, MOST_TAIL_POINTS = 300, 100
MOST_INTERVALS = 150
LEAST_PER_INTERVAL = 5
"""An interval is long enough for so many requests on average: fewer make no percentile."""
WIDTHS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)


def cdf(ordered: Ascending) -> list[Point]:
    """Returns the corners of a sample's distribution: (value, share of the sample at or below it).

    Large samples keep evenly spaced ranks and all of the tail, where what matters happens.
    """
    count = len(ordered)
    if not count:
        return []
    even = range(1, count + 1, max(1, count // MOST_POINTS))
    ranks = sorted({*even, *range(max(1, count - MOST_TAIL_POINTS), count + 1)})
    corners = [(ordered[0], 0.0)]
    for rank in ranks:
        value = ordered[rank - 1]
        corners += [(value, corners[-1][1]), (value, rank / count)]
    return corners[1:]


def cdf_of(distribution: Distribution) -> list[Point]:
    """Returns the few points of a distribution that its percentiles tell."""
    inner = [
        (getattr(distribution, name.replace(".", "_")), at) for name, at in PERCENTILES.items()
    ]
    return [(distribution.min, 0.0), *inner, (distribution.max, 1.0)]


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of the run."""

    begin_s: float
    end_s: float
    peak_in_flight: int
    ok_per_s: float
    failed_per_s: float
    ttft_ms: tuple[float, float] | None
    """p50 and p95 of the requests that were to be sent in it."""

    @property
    def middle_s(self) -> float:
        """Returns where charts show it."""
        return (self.begin_s + self.end_s) / 2


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run over time, in equal intervals; the last one takes in or lacks up to half of one."""

    width_s: int
    intervals: tuple[Interval, ...]

    @property
    def end_s(self) -> float:
        """Returns when the last thing happened."""
        return self.intervals[-1].end_s


class _Cut:
    """Which interval a moment falls in."""

    def __init__(self, last_ns: int, requests: int) -> None:
        self.width_s = _width_s(last_ns / S, requests)
        self.count = max(1, round(last_ns / (self.width_s * S)))
        self.ends_s = [self.width_s * number for number in range(1, self.count)] + [last_ns / S]

    def place(self, at_ns: int) -> int:
        return min(at_ns // (self.width_s * S), self.count - 1)


def timeline(records: Records) -> Timeline:
    """Cuts a run into intervals: what was in flight, what ended, how long first tokens took."""
    ends, errors = records.column("end_ns"), records.column("error")
    last_ns = max(max(ends, default=0), max(records.column("intended_ns"), default=0))
    cut = _Cut(last_ns, len(records))
    ended = [(cut.place(end), error) for end, error in zip(ends, errors, strict=True) if end >= 0]
    ok = Counter(number for number, error in ended if not error)
    failed = Counter(number for number, error in ended if error not in ("", UNFINISHED))
    first, peaks = _first_tokens(records, cut), _peaks(records, cut)
    intervals = []
    for number, end_s in enumerate(cut.ends_s):
        begin_s = float(number * cut.width_s)
        length_s = (end_s - begin_s) or 1.0
        intervals.append(
            Interval(
                begin_s=begin_s,
                end_s=end_s,
                peak_in_flight=peaks[number],
                ok_per_s=ok[number] / length_s,
                failed_per_s=failed[number] / length_s,
                ttft_ms=_median_and_p95(first[number]),
            )
        )
    return Timeline(cut.width_s, tuple(intervals))


def _first_tokens(records: Records, cut: _Cut) -> defaultdict[int, list[float]]:
    """Returns the TTFTs of answered requests, by the interval they were to be sent in."""
    found: defaultdict[int, list[float]] = defaultdict(list)
    for record in records:
        first_ms = ttft_ms(record)
        if record.ok and first_ms is not None:
            found[cut.place(record.intended_ns)].append(first_ms)
    return found


def _width_s(duration_s: float, requests: int) -> int:
    least_s = max(
        duration_s / MOST_INTERVALS,
        min(duration_s * LEAST_PER_INTERVAL / max(1, requests), duration_s / 20),
    )
    return next((each for each in WIDTHS_S if each >= least_s), math.ceil(least_s))


def _peaks(records: Records, cut: _Cut) -> list[int]:
    """Returns the most requests in flight at once, by interval."""
    times = zip(records.column("sent_ns"), records.column("end_ns"), strict=True)
    known = [(sent, end) for sent, end in times if sent != UNKNOWN]
    begun = [(sent, 1) for sent, _ in known]
    ended = [(end, -1) for _, end in known if end != UNKNOWN]
    peaks = [0] * cut.count
    level = here = 0
    for at_ns, change in sorted(begun + ended):
        while here < cut.place(at_ns):
            here += 1
            peaks[here] = level
        level += change
        peaks[here] = max(peaks[here], level)
    peaks[here + 1 :] = [level] * (cut.count - here - 1)
    return peaks


def _median_and_p95(values: list[float]) -> tuple[float, float] | None:
    ordered = sorted(values)
    return (quantile(ordered, 0.5), quantile(ordered, 0.95)) if ordered else None
