"""What waits is computed together, and nobody waits for another's long list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from turnout.embeddings.batcher import Batcher

if TYPE_CHECKING:
    from tests.platform.embeddings.counting_model import CountingModel


@pytest.fixture
async def batcher(model: CountingModel) -> AsyncIterator[Batcher]:
    batcher = Batcher(model, batch_size=4)
    yield batcher
    model.gate.set()
    batcher.close()


async def begun(model: CountingModel, batches: int) -> None:
    while len(model.batches) < batches:
        await asyncio.sleep(0.001)


async def test_vectors_come_in_the_order_of_their_texts(batcher: Batcher) -> None:
    vectors = await batcher.vectors([[1], [1, 2], [5, 5, 5]])
    np.testing.assert_array_equal(vectors, [[3, 4, 1, 1], [3, 4, 2, 3], [3, 4, 3, 15]])


async def test_what_waits_while_one_batch_is_computed_is_the_next_batch(
    model: CountingModel, batcher: Batcher
) -> None:
    model.gate.clear()
    first = asyncio.create_task(batcher.vectors([[0]]))
    await begun(model, 1)
    others = [asyncio.create_task(batcher.vectors([[number]])) for number in range(1, 6)]
    await asyncio.sleep(0)
    assert (batcher.running, batcher.waiting) == (1, 5)
    model.gate.set()
    await asyncio.gather(first, *others)
    assert model.batches == [[[0]], [[1], [2], [3], [4]], [[5]]]
    assert (batcher.running, batcher.waiting) == (0, 0)


async def test_a_short_request_does_not_wait_for_a_long_one(
    model: CountingModel, batcher: Batcher
) -> None:
    model.gate.clear()
    first = asyncio.create_task(batcher.vectors([[0]]))
    await begun(model, 1)
    long = asyncio.create_task(batcher.vectors([[10 + n] for n in range(9)]))
    short = asyncio.create_task(batcher.vectors([[1]]))
    await asyncio.sleep(0)
    model.gate.set()
    await asyncio.gather(first, short, long)
    assert model.batches[1] == [[10], [1], [11], [12]]


async def test_texts_of_a_caller_that_left_are_not_computed(
    model: CountingModel, batcher: Batcher
) -> None:
    model.gate.clear()
    gone = asyncio.create_task(batcher.vectors([[10 + n] for n in range(50)]))
    await begun(model, 1)
    stays = asyncio.create_task(batcher.vectors([[1]]))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    model.gate.set()
    await stays
    assert model.batches[1:] == [[[1]]]
    assert batcher.waiting == 0


async def test_a_models_failure_reaches_those_it_concerns_and_nobody_after_them(
    model: CountingModel, batcher: Batcher
) -> None:
    model.fails_on = [9]
    with pytest.raises(RuntimeError, match="out of memory"):
        await batcher.vectors([[9], *([n] for n in range(8))])
    assert (await batcher.vectors([[1]])).shape == (1, 4)
    assert model.batches == [[[9], [0], [1], [2]], [[1]]]
