"""What a client gets when all goes well: the engine's bytes, and who answered and why."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.system import CHAT, COMPLETIONS, HI

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System

EVERY_ANSWER = ("x-request-id", "x-turnout-model", "x-turnout-decision", "server-timing")


async def test_an_answer_is_the_engines_own_bytes(system: System, small: FakeEngine) -> None:
    answer = await system.chat()
    assert answer.status_code == 200
    assert answer.content == json.dumps(small.whole_answer(CHAT, {})).encode()
    assert answer.headers["content-type"] == "application/json"


async def test_a_request_for_a_model_reaches_the_engine_byte_for_byte(
    system: System, small: FakeEngine
) -> None:
    raw = b'{ "model":"small",\n "messages":[{"role":"user","content":"\\u00e9\xc3\xa9"}], "n":2}'
    assert (await system.post(raw)).status_code == 200
    assert small.received == [(CHAT, raw)]


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2, "stop": ["\n", "END"], "seed": -7},
        {"logprobs": True, "top_logprobs": 3},
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto"},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {}}}},
        {"max_completion_tokens": 9, "temperature": 0, "top_p": 1, "logit_bias": {"50256": -100}},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "b"}]},
    ],
)
async def test_openai_fields_pass_through_unchanged(
    system: System, large: FakeEngine, fields: dict[str, Any]
) -> None:
    sent = {"model": "auto", "messages": [{"role": "user", "content": "hard"}], **fields}
    assert (await system.post(sent)).status_code == 200
    assert large.generations == [{**sent, "model": "large"}]


async def test_completions_work_like_chats(system: System, small: FakeEngine) -> None:
    answer = await system.post({"model": "tiny", "prompt": "easy", "echo": True}, COMPLETIONS)
    assert answer.status_code == 200
    assert small.asked(COMPLETIONS) == [{"model": "small", "prompt": "easy", "echo": True}]


async def test_an_alias_reaches_its_model_under_the_engines_name(
    system: System, small: FakeEngine
) -> None:
    answer = await system.chat("tiny")
    assert answer.headers["x-turnout-model"] == "small"
    assert small.generations[0]["model"] == "small"


@pytest.mark.parametrize(
    ("said", "model", "why"), [("easy", "small", "easy p="), ("hard", "large", "hard p=")]
)
async def test_auto_parts_easy_from_hard(system: System, said: str, model: str, why: str) -> None:
    body = {"model": "auto", "messages": [{"role": "user", "content": said}]}
    answer = await system.post(body)
    assert answer.headers["x-turnout-model"] == model
    assert answer.headers["x-turnout-decision"].startswith(why)


async def test_a_request_that_asks_for_what_small_lacks_goes_to_large(system: System) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    answer = await system.chat("auto", tools=tools)
    assert answer.headers["x-turnout-model"] == "large"
    assert "tools" in answer.headers["x-turnout-decision"]


async def test_engine_fields_pass_only_when_listed(system: System, small: FakeEngine) -> None:
    refused = await system.chat(top_k=5)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "top_k")
    system.configure(engine_fields=["top_k"])
    assert (await system.chat(top_k=5)).status_code == 200
    assert small.generations == [{"model": "small", "messages": HI, "top_k": 5}]


async def test_every_answer_says_who_what_and_how_long(system: System) -> None:
    answers = [
        await system.chat(),
        await system.chat("auto", stream=True),
        await system.chat("nobody"),
        await system.post(b"{"),
        *[await system.client.get(path) for path in ("/nowhere", "/healthz", "/v1/models")],
    ]
    for answer in answers:
        assert all(answer.headers[name] for name in EVERY_ANSWER), answer.url
        assert re.fullmatch(
            r"[a-z]+;dur=\d+\.\d+(, [a-z]+;dur=\d+\.\d+)*", answer.headers["server-timing"]
        )
    assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)
    assert answers[2].headers["x-turnout-model"] == "none"
    assert answers[2].headers["x-turnout-decision"] == "refused: model_not_found"


@pytest.mark.parametrize(
    ("sent", "comes_back"),
    [("mine-1", True), ("a" * 128, True), ("a" * 129, False), ("with space", False), ("é", False)],
)
async def test_a_plain_request_id_comes_back(system: System, sent: str, comes_back: bool) -> None:
    headers = {b"x-request-id": sent.encode("latin-1")}
    answer = await system.client.get("/healthz", headers=headers)
    assert (answer.headers["x-request-id"] == sent) is comes_back


async def test_models_lists_auto_models_and_aliases(system: System) -> None:
    entries = (await system.client.get("/v1/models")).json()
    assert entries["object"] == "list"
    assert [entry["id"] for entry in entries["data"]] == ["auto", "small", "large", "tiny"]
    assert {entry["object"] for entry in entries["data"]} == {"model"}
    one = (await system.client.get("/v1/models/tiny")).json()
    assert one == entries["data"][3]
    assert one["context_window"] == 2048


async def test_ready_names_the_models_that_wait(system: System) -> None:
    assert (await system.client.get("/readyz")).status_code == 200
    del system.table.by_model["large"]
    answer = await system.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert "large" in answer.json()["error"]["message"]
    assert (await system.client.get("/healthz")).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/v1/models", "/v1/models/auto", "/openapi.json"])
async def test_head_answers_like_get_without_the_body(system: System, path: str) -> None:
    head, get = await system.client.head(path), await system.client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(get.content))
