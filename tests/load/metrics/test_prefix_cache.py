from __future__ import annotations

from dataclasses import replace

from turnout_load.metrics.prefix_cache import prefix_cache
from turnout_load.record import Record


def test_the_share_is_of_the_prompts_whose_cached_part_was_told(streamed: Record) -> None:
    told = replace(streamed, input_tokens=300, cached_tokens=240)
    cold = replace(streamed, input_tokens=100, cached_tokens=0)
    cache = prefix_cache([told, cold, streamed])
    assert cache is not None
    assert (cache.input_tokens, cache.cached_tokens, cache.share) == (400, 240, 0.6)


def test_a_server_that_tells_nothing_of_its_cache_has_no_share(streamed: Record) -> None:
    assert prefix_cache([streamed]) is None
