"""Two deployments under the same requests: rounds in turn, and differences within pairs.

In each round both get the same conversations at the same times, one after the other; which goes
first alternates, so that what drifts (a warming cache, a busy machine) falls on both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from msgspec.structs import replace as replaced

from turnout_load.comparison import Comparison
from turnout_load.errors import BadOption, Stopped
from turnout_load.metrics.cost import parse_prices
from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.metric import Metric, S
from turnout_load.metrics.output_tps import OUTPUT_TPS
from turnout_load.metrics.ttft import TTFT
from turnout_load.metrics.usage import joined as joined_lengths
from turnout_load.onward import onward
from turnout_load.pairing import ITL_MEAN, cost_metric, differences, paired
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records
from turnout_load.report.headline import warnings
from turnout_load.result import Result
from turnout_load.spec import Spec, Target
from turnout_load.summarize import Facts, summarize

Taken = tuple[Records, Facts]
Run = Callable[[Spec], Taken]
MOST_FAILURES_APART = 0.01
"""Shares of failed requests that differ by more leave pairs of unlike requests."""


@dataclass(frozen=True)
class Side:
    """One of the two: what it is called, and where its requests go."""

    name: str
    target: Target


def side(text: str, target: Target) -> Side:
    """Reads `MODEL`, `URL` or `URL#MODEL`; what it leaves out comes from the options."""
    if "://" not in text:
        return Side(text, replaced(target, model=text))
    url, _, model = text.partition("#")
    return Side(text, replaced(target, url=url, model=model or target.model))


def compare(
    spec: Spec, sides: tuple[Side, Side], count: int, run: Run
) -> tuple[Comparison, Records, Records]:
    """Runs the rounds; returns what was found, and the requests of A and of B.

    Raises `BadOption` for no rounds, and `Stopped` where none was complete.
    """
    if count < 1:
        raise BadOption("--rounds", str(count), "1 or more")
    taken = run_rounds(spec, sides, count, run)
    if not taken:
        raise Stopped
    warm_up_ns = round(spec.warm_up_s * S)
    of_sides = [
        [(measured(records, warm_up_ns), facts) for records, facts in of_side]
        for of_side in zip(*taken, strict=True)
    ]
    both = paired(*([records for records, _ in of_side] for of_side in of_sides))
    records = [joined([of_round for of_round, _ in of_side], warm_up_ns) for of_side in of_sides]
    a, b = (
        summarize(of_side, replaced(spec, target=side.target, warm_up_s=0.0), _facts(facts))
        for side, of_side, facts in zip(sides, records, of_sides, strict=True)
    )
    found = Comparison(
        a=sides[0].name,
        b=sides[1].name,
        rounds=len(taken),
        pairs=sum(map(len, both)),
        metrics=differences(both, _metrics(spec), spec.seed, incomparable(a, b)),
        a_result=a,
        b_result=b,
        share_by_model={
            model: (_share(a, model), _share(b, model)) for model in sorted({*a.models, *b.models})
        },
        notes=[*_notes_on_rounds(sides, len(taken), count), *_notes_on_requests(a, b, any(both))],
    )
    return found, records[0], records[1]


def run_rounds(
    spec: Spec, sides: tuple[Side, Side], count: int, run: Run
) -> list[tuple[Taken, Taken]]:
    """Returns what A and B took in each round; Ctrl-C leaves out the round that was under way.

    Both get the same conversations, the next round the next ones; which goes first alternates.
    """
    taken: list[tuple[Taken, Taken]] = []
    with suppress(KeyboardInterrupt):  # also while a run's processes start
        for number in range(count):
            of_round: dict[int, Taken] = {}
            for which in (1, 0) if number % 2 else (0, 1):
                of_round[which] = run(replaced(spec, target=sides[which].target))
                if of_round[which][1].was_stopped:
                    return taken
            taken.append((of_round[0], of_round[1]))
            spec = onward(spec, *(records for records, _ in taken[-1]))
    return taken


def _metrics(spec: Spec) -> tuple[Metric, ...]:
    prices = parse_prices(spec.price)
    return (TTFT, ITL_MEAN, E2E, OUTPUT_TPS, *([cost_metric(prices)] if prices else []))


def _notes_on_rounds(sides: tuple[Side, Side], complete: int, count: int) -> list[str]:
    notes = []
    if complete < count:
        notes.append(f"stopped after {complete} of {count} rounds: what came later is left out")
    if complete == 1:
        notes.append("in one round A always goes first: what drifts is taken for a difference")
    if sides[0].target.url == sides[1].target.url:
        notes.append(
            "A and B are at one URL: who goes second may meet a prefix cache that the first has "
            "warmed; rounds take turns, so that it falls on both alike"
        )
    return notes


def _notes_on_requests(a: Result, b: Result, has_pairs: bool) -> list[str]:
    notes = [] if has_pairs else ["no request was answered by both sides: see their errors"]
    if a.requests.failed or b.requests.failed:
        notes.append(
            f"A failed {a.requests.failed} of {_ended(a)}, B failed {b.requests.failed} of "
            f"{_ended(b)}: pairs leave these out"
        )
    sides = {"A": a, "B": b}
    return notes + [f"{name}: {each}" for name, side in sides.items() for each in warnings(side)]


def incomparable(a: Result, b: Result) -> str:
    """Says why the pairs do not compare the two, or returns an empty text.

    A side that fails where it is slow looks fast by what is left.
    """
    shares = [each.requests.failed / max(1, _ended(each)) for each in (a, b)]
    if abs(shares[0] - shares[1]) <= MOST_FAILURES_APART:
        return ""
    return f"not comparable: A failed {shares[0]:.1%} of its requests, B {shares[1]:.1%}"


def _ended(result: Result) -> int:
    return result.requests.ok + result.requests.failed


def _facts(of_rounds: Sequence[tuple[Records, Facts]]) -> Facts:
    """Returns the facts of a side's rounds as one run's."""
    facts = [each for _, each in of_rounds]
    return replace(
        facts[0],
        duration_s=sum(each.duration_s for each in facts),
        cpu_share=max(each.cpu_share for each in facts),
        connections_opened=sum(each.connections_opened for each in facts),
        peak_in_flight=max(each.peak_in_flight for each in facts),
        peak_memory_mib=max(each.peak_memory_mib for each in facts),
        notes=tuple(dict.fromkeys(note for each in facts for note in each.notes)),
        lengths=joined_lengths(each.lengths for each in facts),
    )


def _share(result: Result, model: str) -> float:
    return result.models[model].share if model in result.models else 0.0


def measured(records: Records, warm_up_ns: int) -> Records:
    """Returns the requests after the warm-up."""
    kept = records.where(each >= warm_up_ns for each in records.column("intended_ns"))
    kept.gaps.merge(records.gaps)
    return kept


def joined(of_side: Sequence[Records], warm_up_ns: int) -> Records:
    """Returns a side's measured rounds as one run, one after the other, with no warm-up."""
    whole, begin_ns = Records(), 0
    for of_round in of_side:
        for record in of_round:
            whole.append(shifted(record, begin_ns - warm_up_ns))
        whole.gaps.merge(of_round.gaps)
        begin_ns += max((*of_round.column("end_ns"), warm_up_ns)) - warm_up_ns
    return whole


def shifted(record: Record, by_ns: int) -> Record:
    """Returns a record with all its times moved."""
    moved = {
        name: value + by_ns
        for name in ("intended_ns", "sent_ns", "first_ns", "last_ns", "end_ns")
        if (value := getattr(record, name)) != UNKNOWN
    }
    return replace(record, **moved)
