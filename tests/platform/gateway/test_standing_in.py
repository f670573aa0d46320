"""Models that stand in for one that cannot answer, and requests that wait for a replica."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import MODELS, eventually, settings

from turnout.access.caller import Caller
from turnout.gateway.app import Governance

if TYPE_CHECKING:
    from tests.platform.gateway.system import System


def with_fallback(**small: Any) -> dict[str, Any]:
    models = copy.deepcopy(MODELS)
    models["small"] |= {"fallbacks": ["large"], **small}
    return models


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("is_listed", [False, True])
async def test_a_fallback_answers_when_no_replica_of_the_model_can(
    system: System, small: FakeEngine, stream: bool, is_listed: bool
) -> None:
    system.configure(models=with_fallback())
    small.dies_after = 0
    if not is_listed:
        del system.table.by_model["small"]
    answer = await system.chat(stream=stream)
    assert answer.status_code == 200
    assert answer.headers["x-turnout-model"] == "large"
    assert answer.headers["x-turnout-decision"] == "small cannot answer, large stands in"
    assert await system.metric("turnout_fallbacks_total", model="small", instead="large") == 1


async def test_a_wrong_request_is_nobody_elses(
    system: System, small: FakeEngine, large: FakeEngine
) -> None:
    system.configure(models=with_fallback())
    small.answer = (400, b'{"error": {"message": "bad"}}')
    assert (await system.chat()).status_code == 400
    assert large.received == []


async def test_a_stream_that_has_begun_does_not_change_its_model(
    system: System, small: FakeEngine, large: FakeEngine
) -> None:
    system.configure(models=with_fallback())
    small.dies_after = 3
    assert "replica_lost" in (await system.chat(stream=True)).text
    assert large.received == []


class OnlySmall:
    """Keys that may use small only."""

    async def identify(self, headers: Any) -> Caller:
        return Caller("k", "t", models=frozenset({"small"}))


async def test_a_fallback_that_the_caller_may_not_use_does_not_answer(system: System) -> None:
    system.configure(models=with_fallback())
    system.gateway.govern(Governance(access=OnlySmall()))
    del system.table.by_model["small"]
    assert (await system.chat()).status_code == 503


async def test_a_fallback_that_cannot_do_it_does_not_answer(system: System) -> None:
    models = with_fallback()
    models["large"]["capabilities"] = ["completions"]
    system.configure(models=models)
    del system.table.by_model["small"]
    assert (await system.chat()).status_code == 503


@pytest.mark.parametrize("other", ["small", "nobody"])
def test_a_fallback_has_to_be_another_model(other: str) -> None:
    models = with_fallback(fallbacks=[other])
    with pytest.raises(ValidationError, match=f"fallback '{other}' is no other model"):
        settings(models=models)


@pytest.mark.parametrize("model", ["small", "auto"])
async def test_a_request_waits_for_its_model(bare: System, model: str) -> None:
    bare.configure(failover={"wait_for_replica_s": 20})
    asked = asyncio.create_task(bare.chat(model))
    await asyncio.sleep(0.1)
    assert not asked.done()
    await bare.add(FakeEngine())
    assert (await asked).status_code == 200


async def test_a_waiting_stream_is_sent_comments(bare: System) -> None:
    bare.configure(failover={"wait_for_replica_s": 30, "heartbeat_s": 0.1})
    engine = FakeEngine()
    async with bare.streaming() as answer:
        chunks = answer.aiter_bytes()
        assert await anext(chunks) == b": waiting\n\n"
        assert answer.headers["content-type"].startswith("text/event-stream")
        await bare.add(engine)
        rest = b"".join([chunk async for chunk in chunks])
    said = rest.replace(b": waiting\n\n", b"")
    assert said == b"".join(engine.events("chat", {}))


async def test_a_wait_that_was_in_vain_ends_in_an_error_event(bare: System) -> None:
    bare.configure(failover={"wait_for_replica_s": 1.3})
    answer = await bare.chat(stream=True)
    comment, error = answer.text.strip().split("\n\n")
    assert (answer.status_code, comment) == (200, ": waiting")
    assert json.loads(error.removeprefix("data: "))["error"]["code"] == "no_ready_replica"


async def test_a_client_that_stops_waiting_costs_nothing(bare: System) -> None:
    from tests.platform.gateway.system import HI, http_post  # noqa: PLC0415

    bare.configure(failover={"wait_for_replica_s": 60})
    asked = http_post({"model": "small", "messages": HI})
    _, writer = await bare.connect(asked)
    await eventually(lambda: not bare.is_idle)
    writer.close()
    await eventually(lambda: bare.is_idle)
