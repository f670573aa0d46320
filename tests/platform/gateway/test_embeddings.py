"""`/v1/embeddings` is governed and carried as every request is, and only where it makes sense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.fake_engine import FakeEngine, error_body
from tests.platform.gateway.memory import Records
from tests.platform.gateway.system import HI, MODELS, eventually, settings

from turnout.access.caller import Caller, Limits
from turnout.gateway.app import Governance
from turnout.gateway.request import parse
from turnout.limits.memory import MemoryLimiter

if TYPE_CHECKING:
    from tests.platform.gateway.system import System

PATH = "/v1/embeddings"
MINI = {
    "application": "mini",
    "pools": ["reserved"],
    "aliases": ["text-embedding-3-small"],
    "capabilities": ["embeddings"],
    "price": {"input_usd_per_million_tokens": 1000.0},
}
WITH_MINI: dict[str, Any] = {**MODELS, "mini": MINI}


@pytest.fixture
async def system(bare: System) -> System:
    """A gateway over a chat model and an embedding model."""
    bare.configure(models=WITH_MINI)
    await bare.add(FakeEngine("small"), name="small")
    await bare.add(FakeEngine("mini"), name="mini", window=256)
    return bare


async def embed(system: System, **fields: Any) -> Any:
    return await system.post({"model": "mini", "input": "hello", **fields}, PATH)


async def test_the_replicas_answer_is_passed_on(system: System) -> None:
    answer = await embed(system, model="text-embedding-3-small", input=["a", "b"], user="u")
    assert answer.status_code == 200
    told = answer.json()
    assert [each["embedding"] for each in told["data"]] == [[0.5, -1.0, 2.0]] * 2
    assert told["usage"] == {"prompt_tokens": 22, "total_tokens": 22}
    assert answer.headers["x-turnout-model"] == "mini"
    (asked,) = system.engines["mini"].asked(PATH)
    assert asked == {"model": "mini", "input": ["a", "b"], "user": "u"}


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"model": "auto"}, "model", "name one model"),
        ({"model": "small"}, None, "'small' is not for embeddings, only for chat, completions"),
        ({"input": [1, 2, 3]}, "input", "token ids are of one model's vocabulary"),
        ({"input": [[1, 2], [3]]}, "input", "check_embedding_ctx_length=False"),
        ({"input": []}, "input", "one to 2048 texts, not 0"),
        ({"input": ["x"] * 2049}, "input", "one to 2048 texts, not 2049"),
        ({"input": None}, "input", "a text or a list of texts"),
        ({"input": ["x", True]}, "input", "a text or a list of texts"),
        ({"dimensions": 0}, "dimensions", "greater than 0"),
        ({"encoding_format": "int8"}, "encoding_format", "'float' or 'base64'"),
        ({"stream": True}, "stream", "unrecognized"),
        ({"tools": []}, "tools", "unrecognized"),
        ({"functions": []}, "functions", "unrecognized"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    system: System, fields: dict[str, Any], param: str | None, words: str
) -> None:
    answer = await embed(system, **fields)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, param)
    assert words in error["message"]
    assert not any(engine.received for engine in system.engines.values())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": HI}),
        ("/v1/completions", {"prompt": "hi"}),
        ("/v1/responses", {"input": "hi"}),
        ("/v1/messages", {"messages": HI, "max_tokens": 5}),
    ],
)
async def test_an_embedding_model_does_not_chat(
    system: System, path: str, body: dict[str, Any]
) -> None:
    answer = await system.post({"model": "mini", **body}, path)
    assert answer.status_code == 400
    message = answer.json()["error"]["message"]
    assert "the model 'mini' is not for" in message
    assert message.endswith("only for embeddings; models here that can: small, large")
    assert system.engines["mini"].received == []


async def test_auto_never_picks_an_embedding_model(system: System) -> None:
    assert (await system.chat("auto")).headers["x-turnout-model"] == "small"
    (listed,) = [
        each
        for each in (await system.client.get("/v1/models")).json()["data"]
        if each["id"] == "mini"
    ]
    assert (listed["tier"], listed["context_window"]) == (None, 256)


async def test_the_replica_says_what_is_too_long(system: System) -> None:
    said = "this model's maximum context length is 256 tokens, but text 1 has 300"
    system.engines["mini"].answer = 400, error_body(said, param="input")
    answer = await embed(system, input=["x", "y " * 300])
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "message": said,
        "type": "invalid_request_error",
        "param": "input",
        "code": "context_length_exceeded",
    }


async def test_a_lost_replica_is_replaced_before_the_first_byte(system: System) -> None:
    dying, broken = FakeEngine("mini"), FakeEngine("mini")
    dying.dies_after, broken.answer = 0, (500, error_body("out of memory", 500))
    await system.add(dying, "reserved", 256)
    await system.add(broken, "reserved", 256)
    for _ in range(6):
        assert (await embed(system)).status_code == 200
    assert dying.received or broken.received


async def test_without_a_replica_it_is_a_503(system: System) -> None:
    system.table.by_model["mini"] = []
    answer = await embed(system)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_ready_replica")
    assert int(answer.headers["retry-after"]) > 0


class Known:
    """Everybody is the same caller."""

    def __init__(self, **more: Any) -> None:
        self.caller = Caller(team="search", key_id="k1", **more)

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller:
        return self.caller


async def test_it_leaves_a_usage_record_with_its_cost(system: System) -> None:
    records = Records()
    system.govern(Governance(access=Known(), ledger=records))
    await embed(system, input=["a", "b", "c"])
    await eventually(lambda: bool(records.all))
    (record,) = records.all
    assert (record.endpoint, record.model, record.market) == ("embeddings", "mini", "reserved")
    assert (record.prompt_tokens, record.completion_tokens, record.status) == (33, 0, 200)
    assert record.list_cost_usd == pytest.approx(0.033)
    assert await system.metric("turnout_tokens_total", model="mini", kind="prompt") == 33


async def test_its_tokens_count_against_the_limits(system: System) -> None:
    limits = Limits(tokens_per_minute=60)
    system.govern(Governance(access=Known(key_limits=limits), limiter=MemoryLimiter()))
    texts = ["a" * 40, "b" * 40, "c" * 40]  # 33 tokens as the engine counts, some 45 by size
    first = await embed(system, input=texts)
    assert int(first.headers["x-ratelimit-limit-tokens"]) == 60
    second = await embed(system, input=texts)
    assert (first.status_code, second.status_code) == (200, 429)


async def test_a_key_that_may_not_use_the_model_does_not_see_it(system: System) -> None:
    system.govern(Governance(access=Known(models=frozenset({"small"}))))
    assert (await embed(system)).status_code == 404


@pytest.mark.parametrize(
    ("path", "fields", "tokens"),
    [
        # 1000 texts of 400 characters: four a token and the spaces between them in JSON
        ("embeddings", {"input": ["x" * 400] * 1000}, 101_000),
        ("completions", {"prompt": ["x" * 400] * 1000}, 101_000),
        ("completions", {"prompt": [[7] * 5, [7] * 4]}, 9),
        ("embeddings", {"input": "hi"}, 3),
    ],
)
def test_what_several_prompts_reserve_is_the_sum(
    path: Any, fields: dict[str, Any], tokens: int
) -> None:
    request = parse(path, json.dumps({"model": "m", **fields}).encode(), ())
    assert request.prompt_tokens_expected == pytest.approx(tokens, rel=0.01)


def test_a_model_for_embeddings_has_no_stand_ins() -> None:
    with pytest.raises(ValueError, match="vectors of two models do not compare"):
        settings(models={**WITH_MINI, "mini": {**MINI, "fallbacks": ["small"]}})


async def test_a_cache_salt_is_for_prompts_that_are_cached(system: System) -> None:
    system.govern(Governance(access=Known()))
    await system.chat("small")
    assert (await embed(system)).status_code == 200
    assert "cache_salt" in system.engines["small"].generations[0]
    assert "cache_salt" not in system.engines["mini"].asked(PATH)[0]
