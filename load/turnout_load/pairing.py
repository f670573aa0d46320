"""Differences within pairs: one request, answered by both sides. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turnout_load.comparison import MetricDifference
from turnout_load.metrics.cost import Price, price_of
from turnout_load.metrics.itl import ITL
from turnout_load.metrics.metric import Metric
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records
from turnout_load.report.verdict import verdict
from turnout_load.stats.bootstrap import Block, pairs, relative_difference, statistic_of

Pair = tuple[Record, Record]
STATISTICS = ("mean", "p50", "p95", "p99")
ITL_MEAN = replace(ITL, name="itl_mean")
"""Pairs have each request's mean gap, where a run's `itl` is of all gaps together."""
ENOUGH_ROUNDS = 10
"""From so many on, rounds are what the bootstrap draws."""


def paired(of_a: Sequence[Records], of_b: Sequence[Records]) -> list[list[Pair]]:
    """Returns the requests that both sides answered well, side by side, round by round."""
    found = []
    for round_a, round_b in zip(of_a, of_b, strict=True):
        answered = {(record.index, record.turn): record for record in round_b if record.ok}
        twins = ((record, answered.get((record.index, record.turn))) for record in round_a)
        found.append([(a, b) for a, b in twins if a.ok and b is not None])
    return found


def differences(
    both: Sequence[Sequence[Pair]], metrics: Sequence[Metric], seed: int, withheld: str = ""
) -> list[MetricDifference]:
    """Returns the differences of each metric that pairs have, at each of `STATISTICS`.

    `withheld` stands in the place of the verdicts, where it says anything.
    """
    found = []
    for metric in metrics:
        values = [[(metric.of(a), metric.of(b)) for a, b in of_round] for of_round in both]
        known = [[(a, b) for a, b in each if a and b and a > 0 and b > 0] for each in values]
        if blocks := blocks_of([each for each in known if each]):
            found += [_difference(metric, each, blocks, seed, withheld) for each in STATISTICS]
    return found


def blocks_of(of_rounds: Sequence[Sequence[tuple[float, float]]]) -> list[Block]:
    """Returns the rounds as blocks for the bootstrap, or their pairs where rounds are too few.

    Requests of one round shared a queue: to draw their pairs apart makes intervals too narrow.
    """
    if len(of_rounds) < ENOUGH_ROUNDS:
        return [block for of_round in of_rounds for block in pairs(*zip(*of_round, strict=True))]
    return [([a for a, _ in of_round], [b for _, b in of_round]) for of_round in of_rounds]


def _difference(
    metric: Metric, statistic: str, blocks: Sequence[Block], seed: int, withheld: str
) -> MetricDifference:
    seen = relative_difference(blocks, statistic, seed)
    name = f"{metric.name}.{statistic}"
    a, b = ([value for block in blocks for value in block[side]] for side in (0, 1))
    return MetricDifference(
        name=name,
        a=statistic_of(a, statistic),
        b=statistic_of(b, statistic),
        difference_percent=seen.percent,
        ci95_percent=seen.interval,
        verdict=withheld or verdict(name, seen.percent, seen.interval),
    )


def cost_metric(prices: Mapping[str, Price]) -> Metric:
    """Returns the cost of a request, by the model that answered it, as a metric."""

    def usd(record: Record) -> float | None:
        price = price_of(record.model, prices)
        if price is None or UNKNOWN in (record.input_tokens, record.output_tokens):
            return None
        return price.usd(record.input_tokens, record.output_tokens)

    return Metric("cost", "Cost of a request", "USD", usd)
