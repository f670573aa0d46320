"""A usage report: sums by what was asked for, with list and true costs. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from turnout.config.upstream_settings import UPSTREAM
from turnout.usage.cost import Capacity, Pool, PoolCost, Tokens, pool_costs
from turnout.usage.question import Question

Bucketed = tuple[int | None, Pool]


@dataclass(frozen=True)
class Sums:
    """Usage of one group on one pool in one bucket of time."""

    bucket_s: int | None
    group: tuple[str, ...]
    pool: Pool
    requests: int
    tokens: Tokens
    cached_tokens: int
    list_cost_usd: float


@dataclass(frozen=True)
class Line:
    """Usage of one group in one bucket of time; `group` holds what `Question.by` names."""

    bucket_s: int | None
    group: tuple[str, ...]
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    list_cost_usd: float = 0.0
    true_cost_usd: float | None = 0.0
    """None where tokens came from a pool whose capacity nobody recorded."""

    def plus(self, more: "Line") -> "Line":
        """Returns this line with another's sums added."""
        known = self.true_cost_usd is not None and more.true_cost_usd is not None
        return Line(
            self.bucket_s,
            self.group,
            self.requests + more.requests,
            self.prompt_tokens + more.prompt_tokens,
            self.cached_tokens + more.cached_tokens,
            self.completion_tokens + more.completion_tokens,
            self.list_cost_usd + more.list_cost_usd,
            (self.true_cost_usd or 0) + (more.true_cost_usd or 0) if known else None,
        )


@dataclass(frozen=True)
class Report:
    """The answer to a question."""

    question: Question
    lines: Sequence[Line]
    total: Line
    pools: Sequence[tuple[int | None, PoolCost]]
    """All teams' pools over the whole hours of the range: for operators."""


def report_of(
    question: Question,
    sums: Iterable[Sums],
    capacity: Mapping[Bucketed, Capacity],
    tokens: Mapping[Bucketed, Tokens],
) -> Report:
    """Puts a report together; `capacity` and `tokens` are all teams' of the range's whole hours."""
    costs = _costs_by_bucket(capacity, tokens)
    lines: dict[tuple[int | None, tuple[str, ...]], Line] = {}
    for each in sums:
        key = (each.bucket_s, each.group)
        line = _line(each, costs.get(each.bucket_s, {}).get(each.pool))
        lines[key] = lines[key].plus(line) if key in lines else line
    total = Line(None, ())
    for line in lines.values():
        total = total.plus(line)
    pools = [(bucket_s, cost) for bucket_s, of in costs.items() for cost in of.values()]
    return Report(question, tuple(lines.values()), total, pools)


def _costs_by_bucket(
    capacity: Mapping[Bucketed, Capacity], tokens: Mapping[Bucketed, Tokens]
) -> dict[int | None, dict[Pool, PoolCost]]:
    buckets = sorted({bucket for bucket, _ in (*capacity, *tokens)}, key=lambda at: at or 0)
    return {
        bucket: pool_costs(
            {pool: each for (at, pool), each in capacity.items() if at == bucket},
            {pool: each for (at, pool), each in tokens.items() if at == bucket},
        )
        for bucket in buckets
    }


def _line(sums: Sums, cost: PoolCost | None) -> Line:
    return Line(
        sums.bucket_s,
        sums.group,
        sums.requests,
        sums.tokens.prompt,
        sums.cached_tokens,
        sums.tokens.completion,
        sums.list_cost_usd,
        _true_cost_usd(sums, cost),
    )


def _true_cost_usd(sums: Sums, cost: PoolCost | None) -> float | None:
    if sums.pool.market == UPSTREAM:
        return sums.list_cost_usd  # what its provider charges is the price
    if not sums.tokens.total:
        return 0.0
    if cost is None or not cost.capacity.replica_s:
        return None
    return sums.tokens.total * cost.usd_per_token


def as_rows(report: Report) -> list[dict[str, Any]]:
    """Returns the lines as flat rows, for JSON and CSV."""
    return [_row(line, report.question) for line in report.lines]


def as_json(report: Report, *, with_pools: bool = False) -> dict[str, Any]:
    """Returns the report as JSON takes it."""
    question = report.question
    answer: dict[str, Any] = {
        "object": "usage.report",
        "from": _iso(question.from_s),
        "to": _iso(question.to_s),
        "group_by": list(question.by),
        "bucket": question.bucket,
        "data": as_rows(report),
        "total": _sums_of(report.total),
    }
    if with_pools:
        answer["pools"] = [_pool_row(bucket_s, cost) for bucket_s, cost in report.pools]
    return answer


def _row(line: Line, question: Question) -> dict[str, Any]:
    start = {} if line.bucket_s is None else {"start": _iso(line.bucket_s)}
    return {**start, **dict(zip(question.by, line.group, strict=True)), **_sums_of(line)}


def _sums_of(line: Line) -> dict[str, Any]:
    return {
        "requests": line.requests,
        "prompt_tokens": line.prompt_tokens,
        "cached_tokens": line.cached_tokens,
        "completion_tokens": line.completion_tokens,
        "list_cost_usd": line.list_cost_usd,
        "true_cost_usd": line.true_cost_usd,
    }


def _pool_row(bucket_s: int | None, cost: PoolCost) -> dict[str, Any]:
    start = {} if bucket_s is None else {"start": _iso(bucket_s)}
    return {
        **start,
        "model": cost.pool.model,
        "market": cost.pool.market,
        "replica_hours": cost.capacity.replica_s / 3600,
        "idle_share": cost.capacity.idle_share,
        "cost_usd": cost.capacity.cost_usd,
        "prompt_tokens": cost.tokens.prompt,
        "completion_tokens": cost.tokens.completion,
        "true_usd_per_million_output_tokens": cost.usd_per_million_output_tokens,
        "true_usd_per_million_tokens": cost.usd_per_million_tokens,
    }


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z")
