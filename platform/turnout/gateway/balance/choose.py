"""Least expected finish time, prefix and session affinity within bounds. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from turnout.gateway.balance.job import CHARACTERS_PER_TOKEN, Job
from turnout.gateway.balance.prefix import CHARACTERS, SMALLEST_BLOCK
from turnout.gateway.balance.rendezvous import key_of, score
from turnout.gateway.balance.state import REQUEST_TOKENS, ReplicaState
from turnout.gateway.balance.weights import Weights
from turnout.gateway.replicas import Replica

_TOKENS = [characters // CHARACTERS_PER_TOKEN for characters in CHARACTERS]
"""How many tokens a beginning of so many blocks has."""


@dataclass(frozen=True)
class Affinity:
    """What of a request's past is known."""

    blocks: Mapping[str, int] = field(default_factory=dict)
    """How many of the prompt's first blocks each replica has seen, by replica id."""
    home: str = ""
    """The replica that had the session's last request."""


NO_AFFINITY = Affinity()
DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True)
class Choice:
    """The replica that gets a request, and why."""

    replica: Replica
    because: str
    finish_s: float = 0.0
    """Expected time to the last token."""
    cached_tokens: int = 0
    """Tokens of the prompt that it should have cached."""


class Policy(Protocol):
    """Chooses among replicas, of which there is at least one."""

    def __call__(
        self,
        job: Job,
        states: Sequence[ReplicaState],
        pools: Sequence[str],
        affinity: Affinity,
        weights: Weights,
    ) -> Choice:
        """Returns the choice; `pools` are the markets in the operator's order."""
        ...


def choose(
    job: Job,
    states: Sequence[ReplicaState],
    pools: Sequence[str],
    affinity: Affinity = NO_AFFINITY,
    weights: Weights = DEFAULT_WEIGHTS,
) -> Choice:
    """Returns the replica where the job is expected to be finished first, at least cost to others.

    Expected are: the wait for the prompts before it, its own prompt without what is cached there,
    and its tokens at the replica's recent speed, all learned per replica. Waits weigh more than
    their own length (`Weights.crowding`): where each only sought its own best, the fastest replica
    would fill until it was no faster than the slowest. What is cached counts only while the
    replica has no more than its share of the requests.
    """
    costs, cached = _costs(job, states, affinity, weights)
    limit = min(costs) * (1 + weights.near)
    near = [at for at, cost in enumerate(costs) if cost <= limit]
    at = near[0] if len(near) == 1 else _preferred(job, states, pools, near)
    state, hit = states[at], cached[at]
    unread = state.unread_tokens + state.others_unread + REQUEST_TOKENS + job.input_tokens - hit
    finish_s = state.finish_s(unread, job.answer_tokens, state.load + 1)
    because = f"finishes in {finish_s:.3g} s" + (f", {hit} tokens cached" if hit else "")
    return Choice(state.replica, because, finish_s, hit)


def _costs(
    job: Job, states: Sequence[ReplicaState], affinity: Affinity, weights: Weights
) -> tuple[list[float], list[int]]:
    """Returns what each replica would cost in seconds, and the prompt's tokens cached there."""
    tokens, answer = job.input_tokens, job.answer_tokens
    cached = _cached(job, states, affinity, weights)
    off_spot = 1 + (weights.wrong_market if job.is_resumable else 0.0)
    on_spot = 1 + (0.0 if job.is_resumable else weights.spot_risk)
    kv_from, crowding = weights.kv_usage_from, weights.crowding
    costs: list[float] = []
    for state, hit in zip(states, cached, strict=True):
        (ttft_s, per_token_s), (itl_s, per_request_s) = state.ttft, state.itl
        ahead = crowding * (state.unread_tokens + state.others_unread)
        running = 1 + 2 * (state.requests + state.others)  # it slows each of them as much
        cost = ttft_s + per_token_s * (ahead + REQUEST_TOKENS + weights.reading * (tokens - hit))
        cost += answer * (itl_s + per_request_s * running)
        if state.kv_usage > kv_from:
            full = (state.kv_usage - kv_from) / (1 - kv_from)
            cost *= 1 + full * (weights.full_kv_slowdown - 1)
        costs.append(cost * (on_spot if state.replica.market == "spot" else off_spot))
    return costs, cached


def _cached(
    job: Job, states: Sequence[ReplicaState], affinity: Affinity, weights: Weights
) -> list[int]:
    """Returns how many of the prompt's tokens count as cached on each replica."""
    home = affinity.home or (_home(job, states) if job.session else "")
    blocks, tokens = affinity.blocks, job.input_tokens
    cached = [0] * len(states)
    if not blocks and not home:
        return cached
    share: float | None = None
    for at, state in enumerate(states):
        name = state.replica.id
        if name not in blocks and name != home:
            continue
        load = state.requests + state.others
        if load >= weights.free_requests:
            if share is None:
                share = _share(states)
            if load + 1 > weights.load_bound * share * state.per_s:
                continue
        hit = min(_TOKENS[blocks.get(name, 0)], tokens)
        cached[at] = max(hit, int(tokens * weights.session_share)) if name == home else hit
    return cached


def _share(states: Sequence[ReplicaState]) -> float:
    """Returns how many requests each would have, this one included, per unit of its speed."""
    load = sum(state.requests + state.others for state in states)
    return (load + 1) / sum(state.per_s for state in states)


def _home(job: Job, states: Sequence[ReplicaState]) -> str:
    """Returns where every gateway expects a session that it has not seen."""
    key = key_of(job.salt + "\x00" + job.session)
    return max(states, key=lambda state: score(key, state.key)).replica.id


def _preferred(
    job: Job, states: Sequence[ReplicaState], pools: Sequence[str], near: Sequence[int]
) -> int:
    """Settles a tie: the operator's order of markets, the load, then what other gateways take."""
    markets = {states[at].replica.market for at in near}
    if len(markets) > 1:
        first = min(markets, key=pools.index)
        near = [at for at in near if states[at].replica.market == first]
    loads = [states[at].load for at in near]
    least = min(loads)
    near = [at for at, load in zip(near, loads, strict=True) if load == least]
    if len(near) == 1:
        return near[0]
    text = job.session or job.prompt[:SMALLEST_BLOCK]
    key = key_of(job.salt + "\x00" + text)
    scores = [score(key, states[at].key) for at in near]
    return near[scores.index(max(scores))]
