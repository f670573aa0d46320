"""`/tokenize` and `/detokenize` answer from a ready replica of the model they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.calling_engine import CallingEngine
from tests.platform.gateway.system import HI

from turnout.access.caller import Caller, Denied, Limits
from turnout.gateway.app import Governance
from turnout.limits.memory import MemoryLimiter

if TYPE_CHECKING:
    from tests.platform.gateway.system import System


async def test_an_alias_is_tokenized_by_its_model(bare: System) -> None:
    engine = await bare.add(CallingEngine("small"))
    answer = await bare.post({"model": "tiny", "prompt": "hello"}, "/tokenize")
    assert answer.status_code == 200
    assert answer.json()["tokens"] == [1, 2, 3]
    assert engine.asked("/tokenize") == [{"model": "small", "prompt": "hello"}]
    assert answer.headers["x-turnout-model"] == "small"


async def test_a_chat_is_tokenized_with_its_tools(bare: System) -> None:
    engine = await bare.add(CallingEngine("small"))
    body = {"model": "small", "messages": HI, "tools": [], "add_generation_prompt": True}
    assert (await bare.post(body, "/tokenize")).status_code == 200
    assert engine.asked("/tokenize") == [body]


async def test_ids_become_text_again(bare: System) -> None:
    engine = await bare.add(CallingEngine("small"))
    answer = await bare.post({"model": "small", "tokens": [1, 2, 3]}, "/detokenize")
    assert answer.json() == {"prompt": "hello"}
    assert engine.asked("/detokenize") == [{"model": "small", "tokens": [1, 2, 3]}]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/tokenize", {"model": "auto", "prompt": "x"}, "model"),
        ("/tokenize", {"model": "small"}, None),
        ("/tokenize", {"model": "small", "prompt": "x", "messages": HI}, None),
        ("/tokenize", {"prompt": "x"}, "model"),
        ("/tokenize", {"model": "small", "prompt": "x", "chat_template": "x"}, "chat_template"),
        ("/detokenize", {"model": "small", "tokens": ["x"]}, "tokens[0]"),
        ("/detokenize", {"model": "small", "tokens": [-1]}, "tokens[0]"),
        ("/detokenize", {"model": "small"}, "tokens"),
    ],
)
async def test_what_is_wrong_is_refused(
    system: System, path: str, body: Any, param: str | None
) -> None:
    answer = await system.post(body, path)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] in (param, "")
    assert not any(engine.received for engine in system.engines.values())


async def test_a_lost_replica_is_passed_over_and_none_is_an_error(bare: System) -> None:
    gone = CallingEngine("small")
    bare.add_at("http://127.0.0.1:9", gone, "spot", 2048)
    refused = await bare.post({"model": "small", "prompt": "x"}, "/tokenize")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "no_ready_replica")
    await bare.add(CallingEngine("small"))
    for _ in range(4):
        assert (await bare.post({"model": "small", "prompt": "x"}, "/tokenize")).status_code == 200


async def test_an_engines_refusal_is_passed_on(bare: System) -> None:
    engine = await bare.add(CallingEngine("small"))
    engine.count = None
    answer = await bare.post({"model": "small", "messages": HI}, "/tokenize")
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "roles must alternate")


async def test_only_callers_with_a_key_may_ask(system: System) -> None:
    class Closed:
        async def identify(self, headers: Any) -> Caller | Denied:
            return Denied("no key")

    system.govern(Governance(access=Closed()))
    for path in ("/tokenize", "/detokenize"):
        assert (await system.post({"model": "small"}, path)).status_code == 401
    assert (await system.client.get("/tokenize")).status_code == 405


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tokenize", {"prompt": "x"}),
        ("/detokenize", {"tokens": [1]}),
        ("/v1/messages/count_tokens", {"messages": HI}),
    ],
)
async def test_a_question_is_a_request_of_its_callers_rate(
    bare: System, path: str, body: dict[str, Any]
) -> None:
    class Known:
        async def identify(self, headers: Any) -> Caller:
            limits = Limits(requests_per_minute=2, tokens_per_minute=1, concurrent_requests=1)
            return Caller("k1", "search", key_limits=limits)

    engine = await bare.add(CallingEngine("small"))
    bare.govern(Governance(access=Known(), limiter=MemoryLimiter()))
    answers = [await bare.post({"model": "small", **body}, path) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert answers[0].headers["x-ratelimit-remaining-requests"] == "1"
    assert int(answers[2].headers["retry-after"]) > 0
    assert len(engine.received) == 2


async def test_a_question_that_fails_gives_its_place_back(bare: System) -> None:
    class Known:
        async def identify(self, headers: Any) -> Caller:
            return Caller("k1", "search", key_limits=Limits(concurrent_requests=1))

    bare.govern(Governance(access=Known(), limiter=MemoryLimiter()))
    for _ in range(3):
        answer = await bare.post({"model": "small", "prompt": "x"}, "/tokenize")
        assert answer.status_code == 503
