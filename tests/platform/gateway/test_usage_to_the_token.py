"""What is stored equals what clients were told, to the token: concurrency, aborts, retries."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import CHAT, HI, eventually, http_post

from turnout.access.caller import Caller
from turnout.gateway.app import Governance
from turnout.store.usage import insert_usage, records_in
from turnout.store.usage_reports import StoredReports
from turnout.usage.ledger import DiskLedger
from turnout.usage.question import Question
from turnout.usage.record import UsageRecord
from turnout.usage.writer import Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.platform.gateway.system import System

EVER = Question(0, 1e10)
KEYS = ("k1", "k2", "k3")


class ByHeader:
    """Takes the word after "Bearer" for the key, and the key for its team."""

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller:
        key = headers.get(b"authorization", b"Bearer k1").decode().removeprefix("Bearer ")
        return Caller(key, f"team-{key}", frozenset({"inference", "usage"}))


@pytest.fixture
async def ledger(system: System, store: AsyncEngine, tmp_path: Path) -> AsyncIterator[DiskLedger]:
    """Keeps the system's usage in the store."""

    async def insert(records: Sequence[UsageRecord]) -> int:
        return await insert_usage(store, records)

    opened = DiskLedger(tmp_path / "usage", "gw", insert, pace=Pace(interval_s=0.01)).start()
    system.govern(Governance(access=ByHeader(), ledger=opened, reports=StoredReports(store)))
    yield opened
    await opened.stop()


class Client:
    """Asks in every way and adds up what it is told."""

    def __init__(self, system: System, key: str, places: asyncio.Semaphore) -> None:
        self._system = system
        self._places = places
        self.headers = {"authorization": f"Bearer {key}"}
        self.told: Counter[str] = Counter()

    def add(self, usage: Mapping[str, int]) -> None:
        self.told["answers"] += 1
        self.told["prompt"] += usage["prompt_tokens"]
        self.told["completion"] += usage["completion_tokens"]

    async def whole(self, model: str) -> None:
        body = {"model": model, "messages": HI}
        answer = await self._post(body)
        if answer.status_code == 200:  # a busy machine may make a replica seem lost
            self.add(answer.json()["usage"])

    async def _post(self, body: Mapping[str, object]) -> httpx.Response:
        async with self._places:
            return await self._system.post(body, headers=self.headers)

    async def stream(self, model: str, *, wants_usage: bool) -> None:
        options = {"stream_options": {"include_usage": True}} if wants_usage else {}
        body = {"model": model, "messages": HI, "stream": True, **options}
        text = (await self._post(body)).text
        events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        if events[-1] != "[DONE]":
            return None
        chunks = [json.loads(event) for event in events[:-1]]
        if wants_usage:
            return self.add(chunks[-1]["usage"])
        words = sum(bool(chunk["choices"][0]["delta"].get("content")) for chunk in chunks)
        engine = self._system.engines[model]
        assert words == len(engine.words)
        return self.add({"prompt_tokens": engine.prompt_tokens, "completion_tokens": words})


async def settled(system: System, ledger: DiskLedger, requests: int) -> None:
    await eventually(lambda: system.is_idle, 30)
    await eventually(lambda: ledger.tally.stored >= requests, 30)


async def test_many_clients_at_once_in_every_way(
    system: System,
    small: FakeEngine,
    large: FakeEngine,
    ledger: DiskLedger,
    store: AsyncEngine,
) -> None:
    small.delay_s = large.delay_s = 0.002
    large.words, large.prompt_tokens = ("a", " b", " c", " d", " e", " f", " g"), 23
    # Nobody listens there: a request that meets it is sent again elsewhere.
    system.add_at("http://127.0.0.1:9", FakeEngine("small"), "reserved", 2048, "lost")
    places = asyncio.Semaphore(24)
    clients = {key: Client(system, key, places) for key in KEYS}
    work = []
    for client in clients.values():
        for model in ("small", "large"):
            work += [client.whole(model) for _ in range(10)]
            work += [client.stream(model, wants_usage=True) for _ in range(10)]
            work += [client.stream(model, wants_usage=False) for _ in range(10)]
    await asyncio.gather(*work)
    await settled(system, ledger, len(work))

    report = await StoredReports(store).report(Question(0, 1e10, ("key",)))
    stored = {line.group[0]: (line.prompt_tokens, line.completion_tokens) for line in report.lines}
    assert stored == {
        key: (client.told["prompt"], client.told["completion"]) for key, client in clients.items()
    }
    assert report.total.requests == len(work)
    records = [each async for each in records_in(store, EVER)]
    answers = sum(client.told["answers"] for client in clients.values())
    assert sum(record.status == 200 for record in records) == answers > len(work) / 2
    assert any(record.attempts > 1 for record in records)


async def got(answer: httpx.Response, words: int) -> None:
    """Reads a stream until it has so many words."""
    async for line in answer.aiter_lines():
        if not words:
            return
        if line and json.loads(line.removeprefix("data: "))["choices"][0]["delta"]["content"]:
            words -= 1


async def test_a_client_that_leaves_pays_for_what_it_got_and_for_no_more_than_was_made(
    system: System, small: FakeEngine, ledger: DiskLedger, store: AsyncEngine
) -> None:
    small.words, small.delay_s = tuple(f" {n}" for n in range(200)), 0.005
    for words in range(10):
        async with system.streaming() as answer:
            await got(answer, words)
    body = http_post({"model": "small", "messages": HI, "stream": True}, CHAT)
    for _ in range(5):
        before = len(small.received)
        await system.leave(body, lambda: len(small.received) > before)  # noqa: B023 - within the turn
    await settled(system, ledger, 15)
    records = [each async for each in records_in(store, EVER)]
    assert [record.status for record in records] == [499] * 15
    paid = sorted(record.completion_tokens for record in records)
    # Five left before the first word; the others got 0, 1, … 9, and more may have been on its way.
    assert all(
        had <= paid_for for had, paid_for in zip([0] * 5 + list(range(10)), paid, strict=True)
    )
    assert paid[-1] < 200
    assert len({record.id for record in records}) == 15


async def test_a_refused_request_costs_nothing(
    system: System, small: FakeEngine, ledger: DiskLedger, store: AsyncEngine
) -> None:
    small.answer = (400, b'{"error": {"message": "no", "code": 400}}')
    answers = await asyncio.gather(*(system.chat() for _ in range(5)))
    assert {answer.status_code for answer in answers} == {400}
    await settled(system, ledger, 5)
    report = await StoredReports(store).report(EVER)
    assert (report.total.requests, report.total.prompt_tokens) == (5, 0)
    assert report.total.list_cost_usd == 0


async def test_list_prices_follow_the_tokens(
    system: System, small: FakeEngine, ledger: DiskLedger, store: AsyncEngine
) -> None:
    """11 prompt tokens at 2 dollars a million and 4 answered ones at 10: 62 millionths."""
    priced = {
        "application": "small",
        "tier": "small",
        "pools": ["reserved", "spot"],
        "price": {"input_usd_per_million_tokens": 2, "output_usd_per_million_tokens": 10},
    }
    system.configure(models={"small": priced, "large": {**priced, "tier": "large"}})
    await asyncio.gather(*(system.chat() for _ in range(7)))
    await settled(system, ledger, 7)
    report = await StoredReports(store).report(EVER)
    assert report.total.list_cost_usd == pytest.approx(7 * 62e-6)
