"""The gateway without sockets: for tests that ask thousands of questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from tests.platform.gateway.system import (
    CHAT,
    COMPLETIONS,
    HI,
    FakeTable,
    difficulty,
    new_gateway,
    settings,
)
from tests.platform.gateway.token_engine import TokenEngine

from turnout.gateway.app import Gateway, Governance
from turnout.gateway.replicas import Replica
from turnout.gateway.transport import Answer, AnswerBroken
from turnout.usage.record import UsageRecord

FIELDS = ("include_stop_str_in_output", "return_token_ids", "min_tokens", "top_k")


class MemoryTransport:
    """Asks fake engines directly; `cuts` of theirs end the answer."""

    def __init__(self, engines: dict[str, TokenEngine]) -> None:
        self.engines = engines
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    @asynccontextmanager
    async def send(self, replica: Replica, path: str, body: bytes) -> AsyncIterator[Answer]:
        engine, asked = self.engines[replica.id], json.loads(body)
        self.asked.append((replica.id, path, asked))
        if path == "/detokenize":
            status, data = engine.detokenized(asked) if engine.has_tokenizer else (404, b"{}")
            yield Answer(status, "application/json", _pieces([data]))
            return
        dies_after = engine.cuts.pop(0) if engine.cuts else None
        events = engine.events(path, asked)
        if not asked.get("stream"):
            whole = json.dumps(engine.whole_answer(path, asked)).encode()
            events = [whole[:9], whole[9:]]
        yield Answer(200, "text/event-stream", _pieces(events, replica.id, dies_after))


async def _pieces(
    events: Sequence[bytes], name: str = "", dies_after: int | None = None
) -> AsyncIterator[bytes]:
    for number, event in enumerate(events):
        if number == dies_after:
            raise AnswerBroken(name, "cut")
        yield event
    if dies_after is not None and dies_after >= len(events):
        raise AnswerBroken(name, "cut")


class Records:
    """A ledger that keeps what it is told."""

    def __init__(self) -> None:
        self.all: list[UsageRecord] = []

    def note(self, record: UsageRecord) -> None:
        self.all.append(record)


@dataclass(frozen=True)
class View:
    """What a client makes of a stream."""

    text: str
    finish_reason: str | None
    stop_reason: Any
    usage: tuple[int, int] | None
    is_done: bool
    error: str | None

    @classmethod
    def of(cls, raw: bytes) -> View:
        """Reads a stream; fails where its chunks are not those of one stream."""
        events = [e.removeprefix("data: ") for e in raw.decode().split("\n\n") if e]
        chunks = [json.loads(each) for each in events if each != "[DONE]"]
        error = next((c["error"]["code"] for c in chunks if "error" in c), None)
        chunks = [chunk for chunk in chunks if "error" not in chunk]
        assert len({(c["id"], c["object"], c["created"], c["model"]) for c in chunks}) <= 1
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        deltas = [choice.get("delta", {}) for choice in choices]
        assert [d["role"] for d in deltas if d.get("role")] in ([], ["assistant"])
        finishes = [c for c in choices if c["finish_reason"] is not None]
        assert len(finishes) <= 1
        used = [chunk["usage"] for chunk in chunks if chunk.get("usage")]
        assert len(used) <= 1
        assert b'token_ids":[' not in raw
        return cls(
            "".join(
                (d.get("content") or "") + c.get("text", "")
                for c, d in zip(choices, deltas, strict=True)
            ),
            finishes[0]["finish_reason"] if finishes else None,
            finishes[0].get("stop_reason") if finishes else None,
            (used[0]["prompt_tokens"], used[0]["completion_tokens"]) if used else None,
            events[-1] == "[DONE]",
            error,
        )


class Memory:
    """A gateway over token engines that share their tokens and their deaths."""

    def __init__(self, replicas: int = 3, **engine: Any) -> None:
        cuts: list[int] = []
        self.cuts = cuts
        self.engines = {f"r{n}": TokenEngine(cuts=cuts) for n in range(replicas)}
        self.set(**engine)
        self.transport = MemoryTransport(self.engines)
        self.table = FakeTable()
        self.table.by_model["small"] = [
            Replica(name, "small", "reserved", "http://x", 2048) for name in self.engines
        ]
        self.gateway: Gateway = new_gateway(self.table, cast(Any, self.transport))
        self.gateway._relay._fleet.chance = lambda: 0.0  # no pauses between attempts
        self.records = Records()
        self.configure()
        self.gateway.govern(Governance(ledger=self.records))

    def set(self, **knobs: Any) -> None:
        for engine in self.engines.values():
            for name, value in knobs.items():
                setattr(engine, name, value)

    def configure(self, **changes: Any) -> None:
        self.gateway.configure(settings(engine_fields=FIELDS, **changes), difficulty)

    async def ask(self, path: str = CHAT, **fields: Any) -> tuple[int, bytes]:
        """Returns the answer's status and body."""
        prompts: dict[str, dict[str, Any]] = {CHAT: {"messages": HI}, COMPLETIONS: {"prompt": "Hi"}}
        prompt = prompts.get(path, {})
        body = json.dumps({"model": "small", **prompt, **fields}).encode()
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            if messages:
                return messages.pop()
            return await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.gateway(
            {"type": "http", "method": "POST", "path": path, "headers": []}, receive, send
        )
        return sent[0]["status"], b"".join(m.get("body", b"") for m in sent)

    async def stream(self, path: str = CHAT, cuts: Sequence[int] = (), **fields: Any) -> View:
        self.cuts[:] = cuts
        asks = {"stream": True, "stream_options": {"include_usage": True}, **fields}
        status, raw = await self.ask(path, **asks)
        assert status == 200, raw
        return View.of(raw)
