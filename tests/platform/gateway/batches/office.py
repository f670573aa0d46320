"""A gateway's files and batches as clients use them: with the `openai` package."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from openai import AsyncOpenAI
from openai.types import Batch
from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.gateway.memory import Records
from tests.platform.gateway.system import HI, System, settings

from turnout.access.caller import Caller, Denied
from turnout.batches.desk import Desk
from turnout.gateway.app import Governance

CHAT: Final = "/v1/chat/completions"
SCOPES = frozenset({"batch"})
OVER = ("completed", "failed", "expired", "cancelled")


def line(custom_id: str, model: str = "small", **changes: Any) -> dict[str, Any]:
    """Returns one line of an input."""
    body = {"model": model, "messages": HI, **changes.pop("body", {})}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body, **changes}


def jsonl(lines: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


class Keys:
    """Keys by their text, which is also their public id; a test takes them away."""

    def __init__(self) -> None:
        self.callers = {name: Caller(name, f"team-{name}", SCOPES) for name in ("one", "other")}

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller | Denied:
        key = headers.get(b"authorization", b"").decode().removeprefix("Bearer ")
        return await self.caller_of(key)

    async def caller_of(self, key_id: str) -> Caller | Denied:
        return self.callers.get(key_id) or Denied("this key was revoked")


class Office:
    """The desk of a gateway and what a client of it does."""

    def __init__(self, system: System, store: AsyncEngine, folder: Path) -> None:
        self.system, self.store, self.folder = system, store, folder
        self.keys, self.records = Keys(), Records()
        self.desk = self.new_desk()
        self.client = self.client_of("one")

    def new_desk(self) -> Desk:
        """Returns a desk on the same store and files, as of one more gateway."""
        return Desk(self.store, self.keys.caller_of, self.system.gateway, self.folder)

    def client_of(self, key: str) -> AsyncOpenAI:
        return AsyncOpenAI(api_key=key, base_url=f"{self.system.url}/v1", max_retries=0)

    async def __aenter__(self) -> Self:
        self.system.govern(Governance(self.keys, ledger=self.records, desk=self.desk))
        await self.configure()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        await self.desk.stop()

    async def configure(self, **batches: Any) -> None:
        changed = settings(batches={"lease_s": 1, **batches})
        self.system.configure(batches={"lease_s": 1, **batches})
        await self.desk.configure(changed)

    async def upload(self, lines: Sequence[Any] | bytes) -> str:
        data = lines if isinstance(lines, bytes) else jsonl(lines)
        file = await self.client.files.create(file=("in.jsonl", data), purpose="batch")
        return file.id

    async def create(self, lines: Sequence[Any] | bytes) -> Batch:
        return await self.client.batches.create(
            input_file_id=await self.upload(lines),
            endpoint=CHAT,
            completion_window="24h",
        )

    async def over(self, batch_id: str, within_s: float = 60) -> Batch:
        """Returns a batch once it is over."""
        async with asyncio.timeout(within_s):
            while True:
                batch = await self.client.batches.retrieve(batch_id)
                if batch.status in OVER:
                    return batch
                await asyncio.sleep(0.02)

    async def lines_of(self, file_id: str | None) -> list[dict[str, Any]]:
        """Returns the lines of an output."""
        assert file_id is not None
        content = await self.client.files.content(file_id)
        return [json.loads(each) for each in content.text.splitlines()]
