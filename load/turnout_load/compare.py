"""Two deployments under the same requests: rounds in turn, and differences within pairs.

In each round both get the same conversations at the same times, one after the other; which goes
first alternates, so that what drifts (a warming cache, a busy machine) falls on both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replaced

from turnout_load.comparison import Comparison, MetricDifference
from turnout_load.metrics.cost import Price, parse_prices, price_of
from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.itl import ITL
from turnout_load.metrics.metric import Metric, S
from turnout_load.metrics.output_tps import OUTPUT_TPS
from turnout_load.metrics.ttft import TTFT
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records
from turnout_load.report.verdict import verdict
from turnout_load.result import Result
from turnout_load.spec import Spec, Target
from turnout_load.stats.bootstrap import pairs, relative_difference, statistic_of
from turnout_load.summarize import Facts, summarize

Run = Callable[[Spec], tuple[Records, Facts]]
STATISTICS = ("mean", "p50", "p95", "p99")


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


def rounds(spec: Spec, sides: tuple[Side, Side], count: int) -> Iterator[tuple[Spec, Spec]]:
    """Yields the specs of A and B for each round: the same seed, the next conversations."""
    for number in range(count):
        workload = spec.workload
        if spec.requests is not None:
            workload = replaced(workload, skip=workload.skip + number * spec.requests)
        of_round = replaced(spec, workload=workload, seed=spec.seed + number)
        a, b = (replaced(of_round, target=side.target) for side in sides)
        yield a, b


def compare(
    spec: Spec, sides: tuple[Side, Side], count: int, run: Run
) -> tuple[Comparison, Records, Records]:
    """Runs the rounds; returns what was found, and the requests of A and of B."""
    taken = run_rounds(spec, sides, count, run)
    both = paired(*([records for records, _ in of_side] for of_side in taken))
    prices = parse_prices(spec.price)
    metrics = (TTFT, ITL, E2E, OUTPUT_TPS, *([cost_metric(prices)] if prices else []))
    warm_up_ns = round(spec.warm_up_s * S)
    records = [joined([of_round for of_round, _ in of_side], warm_up_ns) for of_side in taken]
    a, b = (
        summarize(of_side, replaced(spec, target=side.target, warm_up_s=0.0), _facts(facts))
        for side, of_side, facts in zip(sides, records, taken, strict=True)
    )
    found = Comparison(
        a=sides[0].name,
        b=sides[1].name,
        rounds=count,
        pairs=len(both),
        metrics=differences(both, metrics, spec.seed),
        a_result=a,
        b_result=b,
        share_by_model={
            model: (_share(a, model), _share(b, model)) for model in sorted({*a.models, *b.models})
        },
        notes=[] if both else ["no request was answered by both sides: see their errors"],
    )
    return found, records[0], records[1]


def run_rounds(
    spec: Spec, sides: tuple[Side, Side], count: int, run: Run
) -> tuple[list[tuple[Records, Facts]], list[tuple[Records, Facts]]]:
    """Returns what the rounds of A and of B took; which goes first alternates."""
    taken: tuple[list[tuple[Records, Facts]], list[tuple[Records, Facts]]] = ([], [])
    for number, specs in enumerate(rounds(spec, sides, count)):
        for which in (1, 0) if number % 2 else (0, 1):
            taken[which].append(run(specs[which]))
    return taken


def _facts(of_rounds: Sequence[tuple[Records, Facts]]) -> Facts:
    """Returns the facts of a side's rounds as one run's."""
    facts = [each for _, each in of_rounds]
    return replace(
        facts[0],
        duration_s=sum(each.duration_s for each in facts),
        was_stopped=any(each.was_stopped for each in facts),
        cpu_share=max(each.cpu_share for each in facts),
        connections_opened=sum(each.connections_opened for each in facts),
        peak_in_flight=max(each.peak_in_flight for each in facts),
        peak_memory_mib=max(each.peak_memory_mib for each in facts),
        notes=tuple(dict.fromkeys(note for each in facts for note in each.notes)),
    )


def _share(result: Result, model: str) -> float:
    return result.models[model].share if model in result.models else 0.0


def paired(of_a: Sequence[Records], of_b: Sequence[Records]) -> list[tuple[Record, Record]]:
    """Returns the requests that both sides answered well, side by side."""
    found = []
    for round_a, round_b in zip(of_a, of_b, strict=True):
        answered = {(record.index, record.turn): record for record in round_b if record.ok}
        for record in round_a:
            twin = answered.get((record.index, record.turn))
            if record.ok and twin is not None:
                found.append((record, twin))
    return found


def joined(of_side: Sequence[Records], warm_up_ns: int) -> Records:
    """Returns a side's rounds as one run, one after the other, without their warm-ups."""
    whole, begin_ns = Records(), 0
    for of_round in of_side:
        kept = [record for record in of_round if record.intended_ns >= warm_up_ns]
        for record in kept:
            whole.append(shifted(record, begin_ns - warm_up_ns))
        whole.gaps.merge(of_round.gaps)
        begin_ns += max((record.end_ns for record in kept), default=warm_up_ns) - warm_up_ns
    return whole


def shifted(record: Record, by_ns: int) -> Record:
    """Returns a record with all its times moved."""
    moved = {
        name: value + by_ns
        for name in ("intended_ns", "sent_ns", "first_ns", "last_ns", "end_ns")
        if (value := getattr(record, name)) != UNKNOWN
    }
    return replace(record, **moved)


def differences(
    both: Sequence[tuple[Record, Record]], metrics: Sequence[Metric], seed: int
) -> list[MetricDifference]:
    """Returns the differences of each metric that pairs have, at each of `STATISTICS`."""
    found = []
    for metric in metrics:
        values = [(metric.of(a), metric.of(b)) for a, b in both]
        known = [(a, b) for a, b in values if a and b and a > 0 and b > 0]
        if known:
            of_a, of_b = ([pair[side] for pair in known] for side in (0, 1))
            found += [_difference(metric, each, of_a, of_b, seed) for each in STATISTICS]
    return found


def _difference(
    metric: Metric, statistic: str, a: list[float], b: list[float], seed: int
) -> MetricDifference:
    seen = relative_difference(pairs(a, b), statistic, seed)
    name = f"{metric.name}.{statistic}"
    return MetricDifference(
        name=name,
        a=statistic_of(a, statistic),
        b=statistic_of(b, statistic),
        difference_percent=seen.percent,
        ci95_percent=seen.interval,
        verdict=verdict(name, seen.percent, seen.interval),
    )


def cost_metric(prices: Mapping[str, Price]) -> Metric:
    """Returns the cost of a request, by the model that answered it, as a metric."""

    def usd(record: Record) -> float | None:
        price = price_of(record.model, prices)
        if price is None or UNKNOWN in (record.input_tokens, record.output_tokens):
            return None
        return price.usd(record.input_tokens, record.output_tokens)

    return Metric("cost", "Cost of a request", "USD", usd)
