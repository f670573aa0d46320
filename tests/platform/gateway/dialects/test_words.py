"""Errors of the chat behind another API name the fields that its client sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.fake_engine import FakeEngine, error_body
from tests.platform.gateway.system import HI

if TYPE_CHECKING:
    from tests.platform.gateway.system import System

RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"


async def refusal(system: System, path: str, **fields: Any) -> tuple[str, str | None]:
    prompt = {"input": "hi"} if path == RESPONSES else {"messages": HI, "max_tokens": 5}
    answer = await system.post({"model": "small", **prompt, **fields}, path)
    assert answer.status_code == 400
    error = answer.json()["error"]
    return error["message"], error.get("param")


async def test_what_the_gateway_says_of_the_window(system: System) -> None:
    message, param = await refusal(system, RESPONSES, max_output_tokens=5000)
    assert "max_output_tokens asks for 5000" in message
    assert param == "max_output_tokens"
    message, _ = await refusal(system, MESSAGES, max_tokens=5000)
    assert "max_tokens asks for 5000" in message
    system.engines["small"].count = 9000
    assert (await refusal(system, RESPONSES, input="x" * 9000))[1] == "input"


@pytest.mark.parametrize(
    ("said", "param", "path", "message", "named"),
    [
        (
            "max_completion_tokens is above the window",
            "max_completion_tokens",
            RESPONSES,
            "max_output_tokens is above the window",
            "max_output_tokens",
        ),
        ("max_tokens: no", "max_tokens", RESPONSES, "max_output_tokens: no", "max_output_tokens"),
        ("max_completion_tokens: no", "max_completion_tokens", MESSAGES, "max_tokens: no", None),
        ("bad image", "messages[1].content[0]", RESPONSES, "bad image", "input"),
        ("not a schema", "response_format.json_schema", RESPONSES, "not a schema", "text.format"),
        ("response_format: no", None, MESSAGES, "output_config.format: no", None),
        ("top_p: no", "top_p", RESPONSES, "top_p: no", "top_p"),
        # The prompt's own words stay: none of these is a field's name in full.
        ("xmax_tokensx, messages, stop", None, RESPONSES, "xmax_tokensx, messages, stop", None),
    ],
)
async def test_what_an_engine_says(
    system: System, said: str, param: str | None, path: str, message: str, named: str | None
) -> None:
    system.engines["small"].answer = 400, error_body(said, param=param)
    assert await refusal(system, path) == (message, named)


async def test_an_engines_window_is_still_known_by_its_code(system: System) -> None:
    said = "This model's maximum context length is 9 tokens, max_tokens is too large"
    system.engines["small"].answer = 400, error_body(said)
    answer = await system.post({"model": "small", "input": "hi"}, RESPONSES)
    assert answer.json()["error"] == {
        "message": "This model's maximum context length is 9 tokens, max_output_tokens is too "
        "large",
        "type": "invalid_request_error",
        "param": "input",
        "code": "context_length_exceeded",
    }


async def test_a_field_that_the_client_did_send_keeps_its_name(system: System) -> None:
    message, param = await refusal(system, RESPONSES, max_tokens=5)
    assert (param, "'max_tokens'" in message) == ("max_tokens", True)


class Failing(FakeEngine):
    """Tells an error amid its stream."""

    def events(self, path: str, body: dict[str, Any]) -> list[bytes]:
        told = error_body("max_tokens: no", 400)
        begun = super().events(path, body)[:2]
        return [*begun, b"data: " + told + b"\n\n", b"data: [DONE]\n\n"]


@pytest.mark.parametrize(
    ("path", "fields", "words"),
    [
        (RESPONSES, {"input": "hi"}, b"max_output_tokens: no"),
        (MESSAGES, {"messages": HI, "max_tokens": 5}, b"max_tokens: no"),
    ],
)
async def test_what_an_engine_says_amid_its_stream(
    bare: System, path: str, fields: dict[str, Any], words: bytes
) -> None:
    await bare.add(Failing("small"))
    answer = await bare.post({"model": "small", "stream": True, **fields}, path)
    assert words in answer.content.split(b"\n\n")[-2]
