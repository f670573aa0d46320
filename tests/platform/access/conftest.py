"""A store of keys in memory that counts queries, fails and hangs on demand, and clocks to turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from turnout.access.caller import Caller, Denied, Limits
from turnout.access.directory import Directory
from turnout.access.secret import hashed, new_key
from turnout.config.settings import AccessSettings
from turnout.store.keys import Key, Team

SETTINGS = AccessSettings(fresh_s=5, stale_s=3600, lookup_timeout_s=30)


@dataclass
class FakeStore:
    """Keys by id; `queries` has the ids of every query."""

    now_s: float = 1_000_000.0
    keys: dict[str, Key] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)
    queries: list[list[str]] = field(default_factory=list)
    fails: Exception | None = None
    gate: asyncio.Event | None = None  # queries wait for it, if any

    def new_key(self, **changes: object) -> str:
        key_id, text = new_key()
        plain: dict[str, object] = {
            **{"id": key_id, "team": "search", "name": "n", "secret_hash": hashed(text)},
            **{"scopes": frozenset({"inference"}), "models": None, "limits": Limits()},
            **{"created_at_s": 0.0},
        }
        self.keys[key_id] = Key(**{**plain, **changes})  # type: ignore[arg-type]
        self.teams.setdefault("search", Team("search", None, Limits(), 0.0))
        return text

    def change(self, text: str, **changes: object) -> None:
        key_id = text.split("-")[1]
        self.keys[key_id] = replace(self.keys[key_id], **changes)  # type: ignore[arg-type]

    async def find(self, ids: Sequence[str]) -> Mapping[str, tuple[Key, Team]]:
        self.queries.append(list(ids))
        found = {
            key_id: (self.keys[key_id], self.teams[self.keys[key_id].team])
            for key_id in ids
            if key_id in self.keys
        }
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return found


@pytest.fixture
def fake() -> FakeStore:
    return FakeStore()


@pytest.fixture
async def directory(fake: FakeStore) -> AsyncIterator[Directory]:
    """A directory over the fake store; its clocks show `fake.now_s`."""
    opened = Directory(fake.find, SETTINGS, now=lambda: fake.now_s, steady=lambda: fake.now_s)
    yield opened
    await opened.close()


Ask = Callable[[str], Awaitable[Caller | Denied]]


@pytest.fixture
def ask(directory: Directory) -> Ask:
    """Asks the directory whose key it is."""

    async def identify(text: str) -> Caller | Denied:
        return await directory.identify({b"authorization": f"Bearer {text}".encode()})

    return identify
