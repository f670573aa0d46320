"""The database is killed in the middle of traffic and comes back: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from tests.platform.gateway.system import HI, eventually

from turnout.gateway.app import Governance
from turnout.store.usage import insert_usage, records_in
from turnout.usage.ledger import DiskLedger
from turnout.usage.question import Question
from turnout.usage.record import UsageRecord
from turnout.usage.writer import Pace

if TYPE_CHECKING:
    from tests.platform.gateway.system import System

FAST = Pace(interval_s=0.01, insert_timeout_s=3, first_wait_s=0.02, longest_wait_s=0.2)


class Traffic:
    """Asks one request after another on some connections, and adds up what it is told."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._goes_on = True
        self.answers = self.prompt_tokens = self.completion_tokens = 0

    async def run(self) -> None:
        await asyncio.gather(*(self._ask(model) for model in ("small", "large") * 4))

    async def _ask(self, model: str) -> None:
        while self._goes_on:
            answer = await self._system.post({"model": model, "messages": HI})
            assert answer.status_code == 200
            usage = answer.json()["usage"]
            self.answers += 1
            self.prompt_tokens += usage["prompt_tokens"]
            self.completion_tokens += usage["completion_tokens"]

    async def goes_on_for(self, answers: int) -> None:
        target = self.answers + answers
        await eventually(lambda: self.answers >= target, 60)

    def stop(self) -> None:
        self._goes_on = False


@pytest.mark.parametrize("database", ["postgresql"])
async def test_a_killed_database_stops_no_request_and_loses_no_record(
    system: System, store: AsyncEngine, postgres: Any, tmp_path: Path
) -> None:
    async def insert(records: Sequence[UsageRecord]) -> int:
        return await insert_usage(store, records)

    system.engines["small"].delay_s = system.engines["large"].delay_s = 0.005
    ledger = DiskLedger(tmp_path, "gw", insert, pace=FAST).start()
    system.govern(Governance(ledger=ledger))
    traffic = Traffic(system)
    running = asyncio.create_task(traffic.run())
    try:
        await traffic.goes_on_for(50)
        await eventually(lambda: ledger.tally.stored > 0, 60)
        await asyncio.to_thread(postgres.kill)
        try:
            await traffic.goes_on_for(100)
            await eventually(lambda: ledger.tally.failures >= 2, 60)
            assert ledger.backlog_bytes > 0
        finally:
            await asyncio.to_thread(postgres.start)
        await traffic.goes_on_for(50)
    finally:
        traffic.stop()
        await running
    await eventually(lambda: ledger.tally.noted == traffic.answers, 60)
    await eventually(lambda: ledger.backlog_bytes == 0, 60)
    await ledger.stop()

    records = [each async for each in records_in(store, Question(0, 1e10))]
    assert len(records) == traffic.answers
    assert sum(each.prompt_tokens for each in records) == traffic.prompt_tokens
    assert sum(each.completion_tokens for each in records) == traffic.completion_tokens


@pytest.mark.parametrize("database", ["postgresql"])
async def test_a_database_that_hangs_stops_no_request_and_loses_no_record(
    system: System, store: AsyncEngine, postgres: Any, tmp_path: Path
) -> None:
    async def insert(records: Sequence[UsageRecord]) -> int:
        return await insert_usage(store, records)

    ledger = DiskLedger(tmp_path, "gw", insert, pace=FAST).start()
    system.govern(Governance(ledger=ledger))
    await system.chat()
    await eventually(lambda: ledger.tally.stored == 1, 60)
    postgres.pause()
    try:
        for _ in range(20):
            assert (await system.chat()).status_code == 200
        await eventually(lambda: ledger.tally.failures > 0, 60)
    finally:
        postgres.resume()
    await eventually(lambda: ledger.backlog_bytes == 0, 60)
    await ledger.stop()
    assert len([each async for each in records_in(store, Question(0, 1e10))]) == 21
