"""Whatever a client sends, the gateway answers it or says what is wrong: never a 500."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.platform.gateway.system import COMPLETIONS, FakeTable, difficulty, new_gateway

from turnout.gateway.api import BODIES, Endpoint
from turnout.gateway.errors import RequestError
from turnout.gateway.request import GenerationRequest, parse
from turnout.gateway.sse import EventSplitter, usage_of

ENDPOINTS: list[Endpoint] = ["chat", "completions"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**300, max_value=10**320)
    | st.floats()
    | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]) | JSON},
    optional={"content": st.text() | JSON, "tool_calls": JSON},
)
FIELDS = sorted({name for body in BODIES.values() for name in body.model_fields})
BODY = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["auto", "small"]) | JSON,
        "messages": st.lists(MESSAGE, max_size=3) | JSON,
    },
    optional={name: JSON for name in FIELDS if name not in ("model", "messages")},
)
COMPLETION = st.fixed_dictionaries({"model": st.just("auto"), "prompt": JSON})
quick = settings(
    max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def is_usable(request: GenerationRequest) -> bool:
    """Does with a parsed request all that the gateway does with it."""
    difficulty(request.text)
    for_engine = json.loads(request.for_engine("small").decode())
    return (
        for_engine["model"] == "small"
        and request.prompt_tokens_at_most > 0
        and bool(request.capabilities)
        and isinstance(request.has_token_ids, bool)
    )


def is_understood_or_refused(endpoint: Endpoint, raw: bytes) -> bool:
    """Whether a body gives a usable request, or a 400 whose JSON says why."""
    try:
        request = parse(endpoint, raw, ())
    except RequestError as refusal:
        told = json.loads(json.dumps(refusal.body()).encode())
        return refusal.status == 400 and bool(told["error"]["message"])
    return is_usable(request)


@quick
@given(st.sampled_from(ENDPOINTS), BODY | COMPLETION | JSON)
def test_any_json_is_understood_or_refused(endpoint: Endpoint, body: Any) -> None:
    assert is_understood_or_refused(endpoint, json.dumps(body).encode())


@quick
@given(st.sampled_from(ENDPOINTS), st.binary(max_size=200))
def test_any_bytes_are_understood_or_refused(endpoint: Endpoint, raw: bytes) -> None:
    cut = b'{"model":"auto","messages":[{"role":"u","content":"' + raw
    assert is_understood_or_refused(endpoint, raw)
    assert is_understood_or_refused(endpoint, cut)


class Nowhere:
    """A transport that nothing reaches."""

    def send(self, *_: Any) -> Any:
        raise AssertionError("nothing is ready: nothing is sent")


async def status_of(raw: bytes, path: str) -> int:
    """Calls the gateway's ASGI app as a server would."""
    gateway = new_gateway(FakeTable(), Nowhere())  # type: ignore[arg-type]
    sent: list[Any] = []
    bodies = iter([{"type": "http.request", "body": raw, "more_body": False}])

    async def receive() -> Any:
        if (message := next(bodies, None)) is None:
            await asyncio.Event().wait()
        return message

    async def send(message: Any) -> None:
        sent.append(message)

    await gateway({"type": "http", "method": "POST", "path": path, "headers": []}, receive, send)
    status: int = sent[0]["status"]
    return status


@quick
@given(BODY | COMPLETION | JSON, st.sampled_from([COMPLETIONS, "/v1/chat/completions"]))
def test_the_gateway_never_answers_500_to_any_json(body: Any, path: str) -> None:
    assert asyncio.run(status_of(json.dumps(body).encode(), path)) in (400, 404, 503)


@quick
@given(
    st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n\n", b"\n")), max_size=6), st.data()
)
def test_the_splitter_gives_whole_events_however_the_stream_is_cut(
    texts: list[bytes], data: st.DataObject
) -> None:
    events = [b"data: " + text.strip(b"\n") + b"\n\n" for text in texts]
    stream = b"".join(events) + b"data: half"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    splitter = EventSplitter()
    borders = zip([0, *cuts], [*cuts, len(stream)], strict=True)
    got = [event for start, end in borders for event in splitter.feed(stream[start:end])]
    assert got == events


@pytest.mark.parametrize(
    ("event", "tokens"),
    [
        (b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n', (3, 4)),
        (b'data: {"choices":[],"usage":{"prompt_tokens":3}}\n\n', (3, 0)),
        (b'data: {"choices":[{"index":0}],"usage":{"prompt_tokens":3}}\n\n', None),
        (b'data: {"x":{"choices":[]},"usage":{"prompt_tokens":3}}\n\n', None),
        (b'data: {"choices":[]}\n\n', None),
        (b'data: {"choices":[]\n\n', None),
        (b': "choices":[]\n\n', None),
        (b"data: [DONE]\n\n", None),
    ],
)
def test_only_the_usage_event_is_usage(event: bytes, tokens: tuple[int, int] | None) -> None:
    usage = usage_of(event)
    assert (usage and (usage.prompt_tokens, usage.completion_tokens)) == tokens
