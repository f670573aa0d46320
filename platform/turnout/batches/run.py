"""One batch that this gateway has claimed: works on it until it is over or another has it."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import TypeVar

import msgspec

from turnout.access.caller import Caller, Denied
from turnout.batches.asking import Question
from turnout.batches.batch import Batch, Status, next_step
from turnout.batches.finish import finish, line_id
from turnout.batches.journal import Journal, Result, results_in
from turnout.batches.line import Line, Problem, answered, unanswered
from turnout.batches.lines import lines_of
from turnout.batches.means import Means
from turnout.batches.settled import settled
from turnout.batches.validation import validate
from turnout.batches.verdict import Answer, judge
from turnout.store.batches import batch_of, move, renew
from turnout.store.engine import writing
from turnout.store.errors import FAILURES
from turnout.store.files import file_of

log = logging.getLogger(__name__)
T = TypeVar("T")
BEATS_PER_LEASE = 5
LONGEST_BEAT_S = 2.0
OWNER_PAUSE_S = 5.0


class LeaseLost(Exception):
    """Another gateway works on the batch now."""


class OwnerGone(Exception):
    """The key that pays is live no more."""


class Run:
    """The work on one claimed batch."""

    def __init__(self, batch: Batch, means: Means) -> None:
        self._batch, self._means = batch, means
        self._is_cancelled = asyncio.Event()
        self._done: set[int] = set()
        self._completed = self._failed = 0
        self._room = asyncio.Semaphore(means.batches.max_running_lines)
        self._held_until_s = 0.0
        self._refusals = 0

    async def run(self) -> None:
        """Works until the batch is over or lost; raises what the disk or the store raises."""
        tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._keep())]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            await _stopped(*tasks)

    async def _keep(self) -> None:
        """Renews the lease; returns when it is lost, or cannot be renewed in time."""
        lease_s = self._means.batches.lease_s
        until_s = self._batch.lease_until_s
        while True:
            await asyncio.sleep(min(lease_s / BEATS_PER_LEASE, LONGEST_BEAT_S))
            now_s = time.time()
            counts = self._completed, self._failed
            try:
                async with asyncio.timeout(until_s - now_s):
                    kept = renew(self._means.store, self._batch, now_s + lease_s, counts)
                    found = await settled(kept)
            except FAILURES as error:
                log.warning("batch_lease", extra={"error": type(error).__name__})
                if time.time() >= until_s:
                    return
                continue
            if found is None:
                return
            until_s = found.lease_until_s
            if found.status == "cancelling":
                self._is_cancelled.set()

    async def _work(self) -> None:
        while True:
            match next_step(self._batch, time.time()):
                case "none":
                    self._means.folder.forget(self._batch.id)
                    return
                case "validate":
                    await self._until_stopped(self._validate())
                case "run":
                    await self._until_stopped(self._run())
                case "complete":
                    await self._finish("completed")
                case "expire":
                    await self._finish("expired")
                case "cancel":
                    await self._finish("cancelled")
            await self._look()

    async def _until_stopped(self, work: Coroutine[None, None, None]) -> None:
        """Does some work until it is done, the batch is cancelled or its time is over."""
        tasks = [asyncio.create_task(work), asyncio.create_task(self._is_cancelled.wait())]
        try:
            left_s = max(0.0, self._batch.expires_at_s - time.time())
            await asyncio.wait(tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                tasks[0].result()
        finally:
            await _stopped(*tasks)

    async def _look(self) -> None:
        """Takes in how the batch stands; raises `LeaseLost`."""
        found = await settled(batch_of(self._means.store, self._batch.id))
        if found is None or found.worker != self._batch.worker:
            raise LeaseLost
        self._batch = found

    async def _move(self, status: Status, **values: object) -> None:
        await settled(self._moved(status, **values))

    async def _moved(self, status: Status, **values: object) -> None:
        async with writing(self._means.store) as connection:
            await move(connection, self._batch, status, time.time(), **values)

    async def _finish(self, status: Status, **values: object) -> None:
        await settled(finish(self._means, self._batch, status, time.time(), **values))
        log.info("batch_over", extra={"batch": self._batch.id, "status": status})

    async def _fail(self, because: str) -> None:
        errors = [Problem("key_not_live", because).as_json(None)]
        await self._finish("failed", errors=errors)

    async def _validate(self) -> None:
        try:
            rules = self._means.rules(self._batch.endpoint, await self._payer())
        except OwnerGone as gone:
            return await self._fail(str(gone))
        batch = self._batch
        file = await settled(file_of(self._means.store, batch.team, batch.input_file_id))
        if file is None:
            problem = Problem("file_not_found", f"file '{batch.input_file_id}' was deleted")
            return await self._move("failed", errors=[problem.as_json(None)])
        path = self._means.folder.contents(self._batch.input_file_id)
        found = await validate(path, rules, self._means.batches.max_lines)
        if found.errors:
            await self._move("failed", errors=found.errors, total=found.total)
        else:
            await self._move("in_progress", total=found.total)
        return None

    async def _run(self) -> None:
        """Asks every line that has no result yet."""
        folder, because = self._means.folder.results(self._batch.id), ""
        async for result in results_in(folder):
            self._count(result)
        try:
            async with Journal(folder, self._batch.worker or "") as journal:
                await self._ask_all(journal)
        except* OwnerGone as gone:
            because = str(gone.exceptions[0])
        if because:
            await self._fail(because)
        else:
            await self._move("finalizing")

    async def _ask_all(self, journal: Journal) -> None:
        path = self._means.folder.contents(self._batch.input_file_id)
        async with asyncio.TaskGroup() as group:
            async for number, raw in lines_of(path, self._means.max_line_bytes):
                if number not in self._done:
                    await self._room.acquire()
                    group.create_task(self._line(number, raw, journal))

    async def _line(self, number: int, raw: bytes, journal: Journal) -> None:
        try:
            line = msgspec.json.decode(raw, type=Line)
            result = self._result(number, line, await self._answer(number, line))
            await journal.add(result)
            self._count(result)
            self._means.tally.completed += result.ok
            self._means.tally.failed += not result.ok
        finally:
            self._room.release()

    def _count(self, result: Result) -> None:
        if result.n not in self._done:
            self._done.add(result.n)
            self._completed += result.ok
            self._failed += not result.ok

    async def _answer(self, number: int, line: Line) -> Answer:
        """Asks a line until it has its answer; while limits or engines refuse, all lines wait."""
        losses, name = 0, f"{self._batch.id}-{number}"
        usage_id = hashlib.sha256(name.encode()).hexdigest()[:32]
        while True:
            await self._paced()
            payer = await self._payer()
            question = Question(self._batch.endpoint, bytes(line.body), payer, name, usage_id)
            async with self._means.slots:
                answer = await self._means.ask(question)
            again = judge(answer, self._refusals, losses)
            if again is None:
                self._refusals = 0
                return answer
            self._means.tally.refused += 1
            losses += again.is_loss
            self._refusals += 1
            held_until_s = asyncio.get_running_loop().time() + again.after_s
            self._held_until_s = max(self._held_until_s, held_until_s)

    async def _paced(self) -> None:
        while (left_s := self._held_until_s - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left_s)

    async def _payer(self) -> Caller:
        """Returns who pays now; raises `OwnerGone`."""
        while True:
            found = await self._means.owner(self._batch.key_id)
            if isinstance(found, Denied):
                if not found.is_temporary:
                    raise OwnerGone(found.because)
                await asyncio.sleep(OWNER_PAUSE_S)
                continue
            if "inference" in found.scopes:
                return found
            # Who may run batches may run what is in them.
            return replace(found, scopes=found.scopes | {"inference"})

    def _result(self, number: int, line: Line, answer: Answer) -> Result:
        name = line_id(self._batch, number)
        request_id, ok = f"{self._batch.id}-{number}", answer.status == 200
        try:
            said = answered(name, line.custom_id, request_id, answer.status, answer.body)
        except msgspec.DecodeError:
            message = f"the answer with status {answer.status} is no JSON"
            said, ok = unanswered(name, line.custom_id, "server_error", message), False
        return Result(number, ok, msgspec.Raw(said))


async def _stopped(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
