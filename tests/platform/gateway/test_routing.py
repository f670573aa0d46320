"""Long prompts, replica choice and changed settings, seen through the served gateway."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import CHAT, COMPLETIONS, MODELS, eventually

if TYPE_CHECKING:
    from tests.platform.gateway.system import System


def saying(text: str, model: str = "auto") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}]}


async def test_a_short_prompt_is_never_counted(
    system: System, small: FakeEngine, large: FakeEngine
) -> None:
    for body in (saying("easy"), saying("easy", "small"), saying("hard"), saying("x", "large")):
        assert (await system.post(body)).status_code == 200
    assert small.asked("/tokenize") == large.asked("/tokenize") == []


async def test_a_long_prompt_that_fits_by_count_stays_small(
    system: System, small: FakeEngine, large: FakeEngine
) -> None:
    small.count = 500  # 3,000 bytes may be more than 2,048 tokens, but are 500
    body = saying("easy " * 600)
    answer = await system.post({**body, "max_tokens": 100})
    assert answer.headers["x-turnout-model"] == "small"
    assert small.asked("/tokenize") == [{"model": "small", "messages": body["messages"]}]
    assert large.asked("/tokenize") == []  # its window holds any 3,000 bytes


async def test_a_prompt_beyond_smalls_window_goes_to_large(
    system: System, small: FakeEngine
) -> None:
    small.count = 2000
    answer = await system.post({**saying("easy " * 600), "max_tokens": 49})
    assert answer.headers["x-turnout-model"] == "large"
    assert answer.headers["x-turnout-decision"] == "prompt 2000+49 tokens > small window 2048"
    exactly = await system.post({**saying("easy " * 600), "max_tokens": 48})
    assert exactly.headers["x-turnout-model"] == "small"


async def test_room_for_an_answer_is_judged_by_count_too(system: System, small: FakeEngine) -> None:
    """1,500 bytes and the 256 tokens kept free might be beyond 2,048 tokens, but are not."""
    small.count = 400
    answer = await system.post(saying("easy " * 300))
    assert answer.headers["x-turnout-model"] == "small"
    assert len(small.asked("/tokenize")) == 1


@pytest.mark.parametrize("model", ["auto", "small", "large"])
async def test_a_prompt_beyond_every_window_is_refused(
    system: System, small: FakeEngine, large: FakeEngine, model: str
) -> None:
    small.count = large.count = 40_000
    answer = await system.post(saying("easy " * 20_000, model))
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")
    assert small.generations == large.generations == []


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
async def test_an_answer_beyond_every_window_names_its_field(system: System, field: str) -> None:
    answer = await system.post({**saying("easy", "small"), field: 3000})
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", field)


@pytest.mark.parametrize(
    ("prompt", "counted"),
    [
        ("x" * 3000, "x" * 3000),
        (["a", "y" * 3000], "y" * 3000),
        ([1] * 2048, None),
        ([[1], [2] * 2048], None),
    ],
)
async def test_a_long_completion_prompt_is_refused_by_its_own_name(
    system: System, small: FakeEngine, prompt: Any, counted: str | None
) -> None:
    small.count = 2048
    answer = await system.post({"model": "small", "prompt": prompt}, COMPLETIONS)
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "prompt")
    asked = [body["prompt"] for body in small.asked("/tokenize")]
    assert asked == ([counted] if counted else [])


@pytest.mark.parametrize("model", ["small", "auto"])
async def test_a_prompt_that_cannot_be_counted_is_the_engines_to_judge(
    system: System, small: FakeEngine, model: str
) -> None:
    small.count = None
    answer = await system.post(saying("easy " * 600, model))
    assert answer.status_code == 200
    assert len(small.generations) == 1


async def test_a_model_that_cannot_do_it_is_not_asked_to_count(
    system: System, small: FakeEngine
) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    await system.post({**saying("easy " * 600), "tools": tools})
    assert small.received == []


async def test_what_shapes_the_prompt_is_told_to_the_tokenizer(
    system: System, small: FakeEngine
) -> None:
    shaping = {
        "tools": [{"type": "function"}],
        "chat_template_kwargs": {"enable_thinking": False},
        "add_generation_prompt": False,
        "continue_final_message": True,
    }
    system.configure(engine_fields=list(shaping))
    body = saying("easy " * 600, "small")
    await system.post({**body, **shaping, "temperature": 0})
    assert small.asked("/tokenize") == [{**body, **shaping}]


async def test_the_replica_with_the_fewest_requests_is_picked(bare: System) -> None:
    engines = [await bare.add(FakeEngine()) for _ in range(3)]
    for engine in engines:
        engine.delay_s = 0.2
    await asyncio.gather(*(bare.chat() for _ in range(9)))
    assert [engine.most_running for engine in engines] == [3, 3, 3]


async def test_what_can_be_resumed_goes_to_spot_and_the_rest_to_reserved(bare: System) -> None:
    spot = await bare.add(FakeEngine(), market="spot", name="a")
    reserved = await bare.add(FakeEngine(), market="reserved", name="b")
    await bare.chat()
    assert (len(spot.received), len(reserved.received)) == (0, 1)
    await bare.chat(stream=True)
    assert (len(spot.received), len(reserved.received)) == (1, 1)


async def test_a_busy_market_is_left_for_the_other(bare: System) -> None:
    spot = await bare.add(FakeEngine(), market="spot", name="a")
    reserved = await bare.add(FakeEngine(), market="reserved", name="b")
    reserved.stalls = spot.stalls = True
    running = [asyncio.create_task(bare.chat()) for _ in range(8)]
    await eventually(lambda: reserved.running + spot.running == len(running))
    assert reserved.running
    assert spot.running
    for task in running:
        task.cancel()


async def test_a_pool_taken_out_of_the_settings_gets_nothing(bare: System) -> None:
    await bare.add(FakeEngine(), market="spot")
    assert (await bare.chat()).status_code == 200
    only_reserved = {**MODELS, "small": {**MODELS["small"], "pools": ["reserved"]}}
    bare.configure(models=only_reserved)
    assert (await bare.chat()).status_code == 503


async def test_running_requests_end_under_the_settings_they_began_with(
    system: System, small: FakeEngine
) -> None:
    small.delay_s = 0.1
    running = [asyncio.create_task(system.chat(stream=stream)) for stream in (False, True)]
    await eventually(lambda: small.running == 2)
    system.configure(models={"large": MODELS["large"]}, router=None, limits={"max_body_bytes": 10})
    assert (await system.chat()).status_code == 413
    whole, stream = await asyncio.gather(*running)
    assert whole.status_code == 200
    assert stream.content == b"".join(small.events(CHAT, {}))


async def test_settings_changed_amid_a_decision_do_not_touch_it(
    system: System, small: FakeEngine
) -> None:
    small.count_delay_s = 0.1
    deciding = asyncio.create_task(system.post(saying("easy " * 600, "small")))
    await eventually(lambda: small.running == 1)
    system.configure(models={"large": MODELS["large"]}, router=None)
    assert (await deciding).status_code == 200


async def test_a_new_alias_and_threshold_count_at_once(system: System) -> None:
    assert (await system.chat("brandnew")).status_code == 404
    renamed = {**MODELS, "small": {**MODELS["small"], "aliases": ["brandnew"]}}
    router = {"tiers": ["small", "large"], "good_enough": {"small": 0.95}}
    system.configure(models=renamed, router=router)
    assert (await system.chat("brandnew")).headers["x-turnout-model"] == "small"
    assert (await system.post(saying("easy"))).headers["x-turnout-model"] == "large"
