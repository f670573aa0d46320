"""A fake of one vLLM 0.29 API server: an ASGI app that speaks its shapes and misbehaves on demand.

The shapes were taken from vLLM's `chat_completion/serving.py`, `completion/serving.py`,
`serve/tokenize` and `error_response.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

SSE = "text/event-stream; charset=utf-8"
Pieces = Callable[[bytes], list[bytes]]
WORDS = ("Grüße", " an", " 世界", " 🙂")


class Died(Exception):
    """Raised inside the app: uvicorn then drops the connection, as when an engine dies."""


def whole(data: bytes) -> list[bytes]:
    return [data]


class FakeEngine:
    """Answers like vLLM; its attributes say how it misbehaves and record what it got."""

    def __init__(self, model: str = "small") -> None:
        self.model = model
        self.received: list[tuple[str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.connections: list[int] = []  # the client's port, per request
        self.running = 0
        self.most_running = 0
        # Knobs.
        self.words: tuple[str, ...] = WORDS
        self.prompt_tokens = 11
        self.delay_s = 0.0  # before every event, or before a whole answer
        self.dies_after: int | None = None  # events sent, or before (0) a whole answer's body
        self.ends_after: int | None = None  # events after which the stream ends in good order
        self.answer: tuple[int, bytes] | None = None  # instead of generating
        self.count: int | None = 7  # what /tokenize says; None: it refuses
        self.count_delay_s = 0.0
        self.pieces: Pieces = whole  # how one event is cut into TCP writes
        self.joins_last_events = False  # the finish, usage and [DONE] events in one write
        self.stalls = False  # never answers
        self.stalls_after: int | None = None  # events after which nothing comes any more

    def asked(self, path: str) -> list[dict[str, Any]]:
        """Returns the bodies that came to a path."""
        return [json.loads(body) for at, body in self.received if at == path]

    @property
    def generations(self) -> list[dict[str, Any]]:
        return self.asked("/v1/chat/completions") + self.asked("/v1/completions")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.received.append((scope["path"], body))
        self.headers.append({k.decode(): v.decode() for k, v in scope["headers"]})
        self.connections.append(scope["client"][1])
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        work = asyncio.create_task(self._respond(scope["path"], json.loads(body), send))
        watch = asyncio.create_task(receive())  # vLLM, too, aborts when its client leaves
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, watch):
                task.cancel()
                with suppress(asyncio.CancelledError, Died):
                    await task
            self.running -= 1

    async def _respond(self, path: str, body: dict[str, Any], send: Any) -> None:
        if self.stalls:
            await asyncio.Event().wait()
        if path == "/tokenize":
            await asyncio.sleep(self.count_delay_s)
            await _send_json(send, *self._tokenized())
        elif self.answer is not None:
            await _send_json(send, *self.answer)
        elif body.get("stream"):
            await self._stream(path, body, send)
        else:
            await asyncio.sleep(self.delay_s)
            await self._whole(path, body, send)

    def _tokenized(self) -> tuple[int, bytes]:
        if self.count is None:
            return 400, error_body("roles must alternate")
        told = {"count": self.count, "max_model_len": 2048, "tokens": [], "token_strs": None}
        return 200, json.dumps(told).encode()

    async def _whole(self, path: str, body: dict[str, Any], send: Any) -> None:
        data = json.dumps(self.whole_answer(path, body)).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        if self.dies_after is not None:
            await send({"type": "http.response.body", "body": data[:9], "more_body": True})
            raise Died
        await send({"type": "http.response.body", "body": data})

    async def _stream(self, path: str, body: dict[str, Any], send: Any) -> None:
        head = [(b"content-type", SSE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        async for data in self._timed(self.events(path, body)):
            for piece in self.pieces(data):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})

    async def _timed(self, events: list[bytes]) -> AsyncIterator[bytes]:
        if self.joins_last_events:
            events = [*events[:-3], b"".join(events[-3:])]
        for number, event in enumerate(events):
            if number == self.dies_after:
                raise Died
            if number == self.ends_after:
                return
            if number == self.stalls_after:
                await asyncio.Event().wait()
            await asyncio.sleep(self.delay_s)
            yield event

    def whole_answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/v1/embeddings":
            return self._embedded(body)
        text = "".join(self.words)
        said = {"message": {"role": "assistant", "content": text}} if "chat" in path else {}
        choices = [
            {"index": index, "text": text, **said, "finish_reason": "stop"}
            for index in range(body.get("n", 1))
        ]
        head = {"id": "x-1", "object": "chat.completion", "created": 1, "model": self.model}
        return {**head, "choices": choices, "usage": self.usage(body)}

    def _embedded(self, body: dict[str, Any]) -> dict[str, Any]:
        """Returns a vector of three numbers a text, as both formats spell them."""
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        is_base64 = body.get("encoding_format") == "base64"
        data = [
            {
                "object": "embedding",
                "index": index,
                # (0.5, -1.0, 2.0) as little-endian 32-bit floats
                "embedding": "AAAAPwAAgL8AAABA" if is_base64 else [0.5, -1.0, 2.0],
            }
            for index in range(len(texts))
        ]
        tokens = self.prompt_tokens * len(texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": self.model, "usage": usage}

    def usage(self, body: dict[str, Any]) -> dict[str, int]:
        completion = len(self.words) * body.get("n", 1)
        total = self.prompt_tokens + completion
        return {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": total,
            "completion_tokens": completion,
        }

    def events(self, path: str, body: dict[str, Any]) -> list[bytes]:
        """Returns the stream's events, the last ones as vLLM sends them: usage if asked, [DONE]."""
        is_chat, indexes = "chat" in path, range(body.get("n", 1))
        events = []
        if is_chat:
            first = {"delta": {"role": "assistant", "content": ""}}
            events += [self._chunk(index, first, None) for index in indexes]
        for word in self.words:
            said: dict[str, Any] = {"delta": {"content": word}} if is_chat else {"text": word}
            events += [self._chunk(index, said, None) for index in indexes]
        ended: dict[str, Any] = {"delta": {"content": ""}} if is_chat else {"text": ""}
        events += [self._chunk(index, ended, "stop") for index in indexes]
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append(self._event({"choices": [], "usage": self.usage(body)}))
        return [*events, b"data: [DONE]\n\n"]

    def _chunk(self, index: int, said: dict[str, Any], reason: str | None) -> bytes:
        choice = {"index": index, **said, "logprobs": None, "finish_reason": reason}
        return self._event({"choices": [choice]})

    def _event(self, chunk: dict[str, Any]) -> bytes:
        head = {"id": "x-1", "object": "chat.completion.chunk", "created": 1, "model": self.model}
        text = json.dumps({**head, **chunk}, ensure_ascii=False, separators=(",", ":"))
        return f"data: {text}\n\n".encode()


def error_body(message: str, code: int = 400, param: str | None = None) -> bytes:
    """Returns an error as vLLM words it."""
    kind = "BadRequestError" if code < 500 else "InternalServerError"
    error = {"message": message, "type": kind, "param": param, "code": code}
    return json.dumps({"error": error}).encode()


async def _send_json(send: Any, status: int, data: bytes) -> None:
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
    if 300 <= status < 400:
        head.append((b"location", b"/elsewhere"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": data})
