"""From which saturation another model takes over, and for whom."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from typing import Any

import pytest
from tests.platform.gateway.system import HI, eventually
from tests.platform.gateway.upstream.conftest import Beyond

from turnout.access.caller import Caller
from turnout.config.settings import ModelSettings
from turnout.gateway.app import Governance
from turnout.gateway.overflow import TakeOver, take_over
from turnout.gateway.overload.places import Places
from turnout.gateway.overload.room import Room, Ticket
from turnout.gateway.overload.urgency import Priority

SMALL = ModelSettings.model_validate(
    {"application": "a", "tier": "t", "pools": ["spot"], "overflow": {"to": "far", "at": 0.9}}
)


def taken(small: float, far: float = 0.0, priority: Priority = Priority.NORMAL) -> TakeOver | None:
    return take_over(
        "small", SMALL, priority, {"small": small, "far": far}.__getitem__, lambda _: True
    )


def test_the_threshold_itself_is_the_first_saturation_that_overflows() -> None:
    assert taken(0.89) is None
    assert taken(0.9) == TakeOver("far", "small is at 90% of its places, far takes over")
    assert taken(math.inf) == TakeOver("far", "small is without a replica, far takes over")


def test_nobody_is_sent_from_one_full_model_to_another() -> None:
    assert taken(2.0, far=0.99) is not None
    assert taken(2.0, far=1.0) is None


def test_batch_requests_wait() -> None:
    assert taken(2.0, priority=Priority.BATCH) is None
    assert taken(2.0, priority=Priority.INTERACTIVE) is not None


def test_a_model_that_may_not_answer_does_not() -> None:
    full = {"small": 2.0, "far": 0.0}.__getitem__
    assert take_over("small", SMALL, Priority.NORMAL, full, lambda _: False) is None


def test_saturation_counts_those_who_run_and_those_who_wait() -> None:
    room = Room()
    room.see(Places(4), 0.0)
    assert room.saturation == 0
    for _ in range(4):
        room.runs_at_once(Ticket(Priority.NORMAL, 0.0, math.inf), 0.0)
    assert room.saturation == 1
    room.enter(Ticket(Priority.NORMAL, 0.0, math.inf), 0.0, 10)
    room.enter(Ticket(Priority.NORMAL, 0.0, math.inf), 0.0, 10)
    assert room.saturation == 1.5
    room.see(Places(0), 0.0)
    assert room.saturation == math.inf


@pytest.mark.parametrize("places", [None, 100])
def test_an_engine_with_a_queue_of_its_own_is_full(places: int | None) -> None:
    room = Room()
    room.see(Places(places, is_pressed=True), 0.0)
    assert room.saturation == 1
    room.see(Places(places), 0.0)
    assert room.saturation == 0


def with_places(beyond: Beyond, most: int, **small: Any) -> None:
    """Gives small so many places and an overflow to far from all of them on."""
    replicas = beyond.system.table.by_model["small"]
    replicas[:] = [dataclasses.replace(each, max_running=most) for each in replicas]
    beyond.configure(models={"small": {"overflow": {"to": "far"}, **small}})


async def test_what_is_beyond_the_places_goes_to_the_upstream(beyond: Beyond) -> None:
    with_places(beyond, 2)
    beyond.system.engines["small"].delay_s = 0.1
    answers = await asyncio.gather(*(beyond.system.chat("small") for _ in range(5)))
    models = sorted(answer.headers["x-turnout-model"] for answer in answers)
    assert models == ["far", "far", "far", "small", "small"]
    because = {answer.headers["x-turnout-decision"] for answer in answers}
    assert because == {"requested", "small is at 100% of its places, far takes over"}
    took = await beyond.system.metric("turnout_overflows_total", model="small", instead="far")
    assert took == 3
    await eventually(lambda: len(beyond.records.all) == 5)
    paid = sorted((r.model, r.market, round(r.list_cost_usd * 1e6)) for r in beyond.records.all)
    assert paid == [("far", "upstream", 51)] * 3 + [("small", "reserved", 0)] * 2


async def test_without_a_replica_the_upstream_answers_at_once(beyond: Beyond) -> None:
    with_places(beyond, 2)
    beyond.system.table.by_model["small"].clear()
    answer = await beyond.system.chat("small", stream=True)
    assert answer.headers["x-turnout-decision"] == "small is without a replica, far takes over"


async def test_an_upstream_that_fails_leaves_the_request_to_its_own_model(beyond: Beyond) -> None:
    with_places(beyond, 1)
    beyond.system.engines["small"].delay_s = 0.1
    beyond.provider.refuses = (500, b"{}", {})
    answers = await asyncio.gather(*(beyond.system.chat("small") for _ in range(3)))
    assert {answer.headers["x-turnout-model"] for answer in answers} == {"small"}
    assert {answer.status_code for answer in answers} == {200}
    said = "far cannot answer, small stands in"
    assert said in {answer.headers["x-turnout-decision"] for answer in answers}


async def test_an_upstream_out_of_service_is_not_overflowed_to(beyond: Beyond) -> None:
    with_places(beyond, 1)
    beyond.provider.refuses = (429, b"{}", {"retry-after": "60"})
    assert (await beyond.system.chat("far")).status_code == 429
    beyond.system.engines["small"].delay_s = 0.1
    await asyncio.gather(*(beyond.system.chat("small") for _ in range(3)))
    assert await beyond.system.metric("turnout_overflows_total") == 0


async def test_who_may_not_use_the_upstream_waits(beyond: Beyond) -> None:
    class OnlySmall:
        async def identify(self, headers: Any) -> Caller:
            return Caller("k", "t", models=frozenset({"small"}))

    with_places(beyond, 1)
    beyond.system.govern(Governance(access=OnlySmall()))
    beyond.system.engines["small"].delay_s = 0.05
    answers = await asyncio.gather(*(beyond.system.chat("small") for _ in range(3)))
    assert {answer.headers["x-turnout-model"] for answer in answers} == {"small"}
    assert beyond.provider.received == []


async def test_what_the_upstream_cannot_do_waits(beyond: Beyond) -> None:
    with_places(beyond, 1)
    beyond.system.engines["small"].delay_s = 0.05
    logprobs = {"model": "small", "messages": HI, "logprobs": True}
    unknown = {"model": "small", "messages": HI, "top_k": 3}
    bodies = [unknown, logprobs, unknown, logprobs]
    answers = await asyncio.gather(*(beyond.system.post(body) for body in bodies))
    assert [answer.headers["x-turnout-model"] for answer in answers] == ["small"] * 4
    assert beyond.provider.received == []
