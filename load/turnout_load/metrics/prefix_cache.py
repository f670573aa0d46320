"""Prefix-cache share.

    share = cached prompt tokens / prompt tokens, over the answers that tell both

The server tells them in `usage.prompt_tokens_details.cached_tokens` (vLLM needs
`--enable-prompt-tokens-details`).
"""

from __future__ import annotations

from collections.abc import Iterable

from turnout_load.record import UNKNOWN, Record
from turnout_load.result import PrefixCache


def prefix_cache(answered: Iterable[Record]) -> PrefixCache | None:
    """Returns the share of prompt tokens that came from the cache; None if no answer tells it."""
    told = [
        (record.input_tokens, record.cached_tokens)
        for record in answered
        if record.cached_tokens != UNKNOWN and record.input_tokens > 0
    ]
    if not told:
        return None
    input_tokens, cached_tokens = (sum(counts) for counts in zip(*told, strict=True))
    return PrefixCache(
        input_tokens=input_tokens, cached_tokens=cached_tokens, share=cached_tokens / input_tokens
    )
