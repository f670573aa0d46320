"""What the mock does."""

from __future__ import annotations

import msgspec

from turnout_load.errors import BadOption


class MockSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times and lengths of its answers."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    ttft_ms: float = 50.0
    """Time from a request's arrival to the answer's first token."""
    itl_ms: float = 10.0
    """Time between two tokens."""
    tokens: int = 32
    """Length of an answer to a request without `max_tokens`."""
    tokens_per_chunk: int = 1
    """A chunk is sent when its first token is due."""
    whole_ms: float | None = None
    """Time of an answer that is not streamed; None makes it wait as long as the stream takes."""
    models: tuple[str, ...] = ()
    """Names for `x-turnout-model`, of which a hash of the request's body picks one."""
    role_chunk: bool = True
    """Whether a chat stream begins with a chunk that only names the role, as OpenAI's does."""
    cached_share: float = 0.0
    """Share of each prompt that `usage` says was in the prefix cache."""
    places: int = 0
    """Answers worked on at once, as an engine's `max_num_seqs`: others wait. 0 is no limit."""
    prefill_ms_per_token: float = 0.0
    """Time to read a token of a prompt, one prompt after the other, before `ttft_ms` begins."""
    cache_tokens: int = 0
    """Tokens of prompts kept for later ones that begin alike, which then are not read again; \
`usage` tells them in place of `cached_share`."""
    exact_up_to: int = 64
    """Up to so many answers under way have exact times, which are waited for busily; with more of \
them times are up to a millisecond late."""

    def __post_init__(self) -> None:
        """Refuses what cannot be done; raises `BadOption`."""
        for name in _AMOUNTS:
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise BadOption(_option(name), str(value), "0 or more")
        if self.tokens_per_chunk < 1:
            raise BadOption(_option("tokens_per_chunk"), str(self.tokens_per_chunk), "1 or more")
        if not 0 <= self.cached_share <= 1:
            raise BadOption(_option("cached_share"), str(self.cached_share), "a share, 0 to 1")


_AMOUNTS = (
    *("ttft_ms", "itl_ms", "whole_ms", "tokens", "exact_up_to"),
    *("places", "prefill_ms_per_token", "cache_tokens"),
)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
