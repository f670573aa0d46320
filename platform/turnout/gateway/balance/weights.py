"""What a choice weighs, in one place. Pure data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Weights:
    """The constants of `choose`; the defaults are those that `make bench-dispatch` measures."""

    crowding: float = 8.0
    """How many times the wait for others counts: whoever joins a queue makes more of them wait."""
    reading: float = 4.0
    """How many times the reading of its own prompt counts: others behind it wait for it."""
    load_bound: float = 1.5
    """Affinity counts while a replica has at most so many times its share of the requests."""
    free_requests: int = 4
    """Below so many requests on a replica its share does not matter: engines batch."""
    session_share: float = 0.5
    """Share of a prompt that a session's own replica is taken to have cached at least."""
    kv_usage_from: float = 0.9
    """Share of KV cache in use from which an engine may have to preempt requests."""
    full_kv_slowdown: float = 2.0
    """How many times slower a replica counts whose KV cache is full."""
    wrong_market: float = 0.1
    """How much longer an answer that can go on elsewhere may take on spot than on the rest."""
    spot_risk: float = 0.5
    """How much longer an answer that cannot go on elsewhere may take off spot."""
    near: float = 0.02
    """Finish times this near to the best one are equal: pool order, load and hashing decide."""
