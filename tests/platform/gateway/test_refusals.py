"""Every wrong request is answered with a 4xx in OpenAI's shape that names what is wrong."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError
from tests.platform.gateway.system import CHAT, COMPLETIONS, HI, http_post

from turnout.gateway.api import BODIES, Endpoint

if TYPE_CHECKING:
    import httpx
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System


def error_of(answer: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return error


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "Expecting value at line 1 column 1"),
        (b'{"model": "small", "messages": [', "at line 1 column 33"),
        (b"[]", "it is a list"),
        (b"null", "it is a null"),
        (b'{"model": "small", "seed": NaN}', "NaN is not a finite number"),
        (b'{"model": "small", "temperature": -Infinity}', "-Infinity is not a finite number"),
        (b'{"model": "small", "temperature": 1e999}', "1e999 is not a finite number"),
        (b'{"model": "sm\xffall"}', "not UTF-8 (byte 13)"),
        (b'{"model": "\xed\xa0\x80"}', "not UTF-8 (byte 11)"),  # a surrogate's bytes
        ('{"model": "small"}'.encode("utf-16"), "not UTF-8"),
        (b'{"model": "small", "messages": [{"role": "user\\ud800"}]}', "half a character"),
        (b'{"model": "small", "\\uDFFF": 1}', "half a character"),
        (b'{"model": ' + b"[" * 100_000, "nested deeper than 128 levels"),
        (b'{"model": ' + b"[" * 150 + b"]" * 150 + b"}", "nested deeper than 128 levels"),
        (b'{"a": ' * 990 + b"1" + b"}" * 990, "nested deeper than 128 levels"),
        (b'{"model": "small", "seed": ' + b"9" * 5000 + b"}", "too many digits"),
    ],
)
async def test_what_is_no_json_object_is_refused(system: System, body: bytes, says: str) -> None:
    answer = await system.post(body)
    assert answer.status_code == 400
    error = error_of(answer)
    assert says in error["message"]
    assert (error["type"], error["param"]) == ("invalid_request_error", None)


async def test_nesting_within_the_limit_passes(system: System, small: FakeEngine) -> None:
    deep = b"[" * 100 + b"]" * 100
    body = b'{"model":"auto","messages":[{"role":"user","content":"easy","x":' + deep + b"}]}"
    assert (await system.post(body)).status_code == 200
    assert b"[" * 100 in small.received[0][1]


async def test_of_a_key_given_twice_the_last_counts(system: System, small: FakeEngine) -> None:
    body = b'{"model": "nobody", "model": "tiny", "messages": [{"role": "user"}]}'
    assert (await system.post(body)).headers["x-turnout-model"] == "small"
    assert small.generations[0]["model"] == "small"


async def test_escaped_characters_outside_the_basic_plane_pass(
    system: System, small: FakeEngine
) -> None:
    body = b'{"model": "tiny", "messages": [{"role": "user", "content": "\\ud83d\\ude42"}]}'
    assert (await system.post(body)).status_code == 200
    assert small.generations[0]["messages"][0]["content"] == "🙂"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": "hi"}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": 7}]}, "messages[0].role"),
        ({"messages": [*HI, {"content": "x"}]}, "messages[1].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [7]}]}, "messages[0].content"),
        ({"model": None}, "model"),
        ({"model": 7}, "model"),
        ({"n": "two"}, "n"),
        ({"n": 0}, "n"),
        ({"n": True}, "n"),
        ({"seed": 1.5}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"max_tokens": 10**4000}, "max_tokens"),
        ({"stop": 3}, "stop"),
        ({"stop": ["a", 3]}, "stop"),
        ({"stream": "yes"}, "stream"),
        ({"stream": True, "stream_options": 1}, "stream_options"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": 10**400}, "temperature"),
        ({"top_p": "1"}, "top_p"),
        ({"logit_bias": {"50256": "x"}}, "logit_bias"),
        ({"tools": {}}, "tools"),
        ({"tools": [1]}, "tools[0]"),
        ({"response_format": "json"}, "response_format"),
        ({"logprobs": 3}, "logprobs"),
        ({"top_logprobs": -1}, "top_logprobs"),
    ],
)
async def test_a_wrong_type_names_its_field(
    system: System, change: dict[str, Any], param: str
) -> None:
    answer = await system.post({"model": "small", "messages": HI, **change})
    assert answer.status_code == 400
    assert error_of(answer)["param"] == param


@pytest.mark.parametrize("prompt", [None, 7, [], [""], ["a", 1], [1.5], [-1], [True], [[]], {}])
async def test_a_completions_prompt_is_text_or_tokens(system: System, prompt: Any) -> None:
    answer = await system.post({"model": "small", "prompt": prompt}, COMPLETIONS)
    if prompt in ([], [""]):
        assert answer.status_code == 200  # text lists: their contents are the engine's to judge
    else:
        assert (answer.status_code, error_of(answer)["param"]) == (400, "prompt")


async def test_an_echoed_prompt_may_be_judged_without_an_answer(system: System) -> None:
    body = {"model": "small", "prompt": "x", "echo": True, "max_tokens": 0, "logprobs": 1}
    assert (await system.post(body, COMPLETIONS)).status_code == 200


@pytest.mark.parametrize(
    ("endpoint", "field", "value"),
    [
        ("chat", "messages", [7] * 1000),
        ("chat", "messages", [{"role": "user", "content": [7] * 1000}]),
        ("chat", "tools", [7] * 1000),
        ("chat", "stop", [7] * 1000),
        ("chat", "metadata", dict.fromkeys(map(str, range(1000)), 7)),
        ("chat", "logit_bias", dict.fromkeys(map(str, range(1000)), "x")),
        ("completions", "prompt", [1.5] * 1000),
        ("completions", "prompt", [[1.5] * 1000] * 1000),
    ],
)
def test_of_many_wrong_items_only_the_first_are_reported(
    endpoint: Endpoint, field: str, value: Any
) -> None:
    """Reports of a million would hold up every other request for a minute."""
    rest = {"messages": HI} if endpoint == "chat" else {"prompt": "x"}
    try:
        BODIES[endpoint].model_validate({"model": "m", **rest, field: value})
    except ValidationError as error:
        count = error.error_count()
    else:
        count = 0
    assert count <= 6


@pytest.mark.parametrize("field", ["priority", "guided_json", "x" * 1000])
async def test_an_unknown_field_is_named(system: System, field: str) -> None:
    error = error_of(await system.post({"model": "small", "messages": HI, field: 1}))
    assert (error["code"], error["param"]) == ("unknown_parameter", field[:64])


async def test_an_unknown_model_is_told_the_known_ones(system: System) -> None:
    answer = await system.chat("nobody")
    assert answer.status_code == 404
    error = error_of(answer)
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    assert error["message"].endswith("models here: auto, small, large, tiny")
    listed = await system.client.get("/v1/models/nobody")
    assert (listed.status_code, error_of(listed)["code"]) == (404, "model_not_found")


async def test_without_a_router_there_is_no_auto(system: System) -> None:
    system.configure(router=None)
    assert (await system.chat("auto")).status_code == 404
    entries = (await system.client.get("/v1/models")).json()["data"]
    assert [entry["id"] for entry in entries] == ["small", "large", "tiny"]


async def test_what_no_model_can_do_is_refused(system: System) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    answer = await system.chat("auto", messages=[{"role": "user", "content": [image]}])
    assert answer.status_code == 400
    assert error_of(answer)["code"] == "unsupported_capability"


@pytest.mark.parametrize("extra", [0, 1])
async def test_a_body_up_to_the_limit_passes(system: System, extra: int) -> None:
    system.configure(limits={"max_body_bytes": 200})
    body = json.dumps({"model": "small", "messages": HI}).encode()
    answer = await system.post(body + b" " * (200 + extra - len(body)))
    assert answer.status_code == (413 if extra else 200)
    if extra:
        error = error_of(answer)
        assert error["code"] == "request_too_large"
        assert "200 bytes" in error["message"]


async def test_a_declared_length_above_the_limit_is_refused_before_the_body(
    system: System,
) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n\r\n"
    reader, writer = await system.connect(head.encode())
    assert await reader.readline() == b"HTTP/1.1 413 Request Entity Too Large\r\n"
    writer.close()


async def test_a_chunked_body_above_the_limit_is_refused_on_the_way(system: System) -> None:
    system.configure(limits={"max_body_bytes": 1000})
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    reader, writer = await system.connect(head.encode() + b"400\r\n" + b" " * 1024 + b"\r\n")
    assert await reader.readline() == b"HTTP/1.1 413 Request Entity Too Large\r\n"
    writer.close()


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", CHAT, "POST"),
        ("DELETE", COMPLETIONS, "POST"),
        ("POST", "/v1/models", "GET, HEAD"),
        ("PUT", "/v1/models/small", "GET, HEAD"),
        ("POST", "/metrics", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    system: System, method: str, path: str, allowed: str
) -> None:
    answer = await system.client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed
    assert error_of(answer)["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/", "/v1/rerank", CHAT + "/", "/v1/models/", "/v1/%2e%00"])
async def test_an_unknown_path_is_a_404(system: System, path: str) -> None:
    answer = await system.client.get(path)
    assert answer.status_code == 404
    assert error_of(answer)["type"] == "invalid_request_error"


async def test_a_connection_is_used_again_after_every_error(system: System) -> None:
    system.configure(limits={"max_body_bytes": 300})
    reader, writer = await system.connect(b"")
    statuses = []
    for body in (b"{", b" " * 301, {"model": "nobody", "messages": HI}, {"model": "tiny"}, b"[]"):
        writer.write(http_post(body))
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        statuses.append(head.split()[1])
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
        json.loads(await reader.readexactly(int(length.split(b":")[1])))
    writer.write(http_post({"model": "tiny", "messages": HI}))
    assert (await reader.readline()).split()[1] == b"200"
    assert statuses == [b"400", b"413", b"404", b"400", b"400"]
    writer.close()
