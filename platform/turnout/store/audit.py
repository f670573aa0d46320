"""The audit log: every act in a row, each row sealed with the hash of the one before.

The hash of a row covers all of it and the hash before, so a row that is changed, taken out or put
in later breaks the chain from there on. Rows cut off at the end leave a whole chain: whoever notes
the last hash somewhere else finds that out, too (`head` of `verify`).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from turnout.store.engine import is_postgresql
from turnout.store.tables import audit

FIRST_HASH = "0" * 64
_LOCK = 0x61756469  # "audi"; see turnout.store.migrate
_PAGE = 1000


@dataclass(frozen=True)
class Entry:
    """One row. `before` and `after` are canonical JSON; None where there was or is nothing."""

    sequence: int
    at_s: float
    actor: str
    act: str
    subject: str
    before: str | None
    after: str | None
    previous_hash: str
    hash: str

    def seal(self) -> str:
        """Returns the hash that the row should have."""
        values = [value for name, value in vars(self).items() if name != "hash"]
        return hashlib.sha256(canonical(values).encode()).hexdigest()


@dataclass(frozen=True)
class Act:
    """What somebody did; `before` and `after` hold no secrets."""

    at_s: float
    actor: str
    act: str
    subject: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Verdict:
    """What checking the chain found."""

    rows: int
    head: str
    """Hash of the last row that holds."""
    broken_at: int | None = None
    """Sequence of the first row that does not hold."""
    problem: str | None = None


def canonical(value: Any) -> str:
    """Returns JSON that is the same for the same value, whatever wrote it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


async def lock(connection: AsyncConnection) -> None:
    """Lets one transaction at a time add to the log, until it ends (SQLite's `writing` does)."""
    if is_postgresql(connection):
        await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))


async def append(connection: AsyncConnection, act: Act) -> None:
    """Adds a row to the log, in the transaction of what was done; call `lock` before."""
    newest = select(audit).order_by(audit.c.sequence.desc()).limit(1)
    last = (await connection.execute(newest)).first()
    entry = Entry(
        sequence=last.sequence + 1 if last else 1,
        at_s=act.at_s,
        actor=act.actor,
        act=act.act,
        subject=act.subject,
        before=None if act.before is None else canonical(act.before),
        after=None if act.after is None else canonical(act.after),
        previous_hash=last.hash if last else FIRST_HASH,
        hash="",
    )
    await connection.execute(insert(audit).values({**vars(entry), "hash": entry.seal()}))


async def listed(connection: AsyncConnection, before: int | None, limit: int) -> list[Entry]:
    """Returns up to `limit` rows, newest first, from the one before sequence `before` on."""
    query = select(audit).order_by(audit.c.sequence.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.sequence < before)
    return [_entry(row) for row in await connection.execute(query)]


async def verify(connection: AsyncConnection, head: str | None = None) -> Verdict:
    """Checks the whole chain; with a `head` noted earlier, also that its row is still there."""
    verdict, head_seen = Verdict(0, FIRST_HASH), head in (None, FIRST_HASH)
    while verdict.broken_at is None:
        query = select(audit).order_by(audit.c.sequence).limit(_PAGE)
        if verdict.rows:
            query = query.where(audit.c.sequence > verdict.rows)
        page = [_entry(row) for row in await connection.execute(query)]
        if not page:
            break
        head_seen = head_seen or any(entry.hash == head for entry in page)
        verdict = check(page, verdict)
    if verdict.broken_at is None and not head_seen:
        return Verdict(verdict.rows, verdict.head, verdict.rows + 1, "the row of that hash is gone")
    return verdict


def check(entries: Iterable[Entry], so_far: Verdict) -> Verdict:
    """Checks that entries continue a chain that held so far. Pure."""
    rows, head = so_far.rows, so_far.head
    for entry in entries:
        problem = _problem(entry, rows + 1, head)
        if problem:
            return Verdict(rows, head, rows + 1, problem)
        rows, head = rows + 1, entry.hash
    return Verdict(rows, head)


def _problem(entry: Entry, sequence: int, previous_hash: str) -> str | None:
    if entry.sequence != sequence:
        return f"it is missing (row {entry.sequence} comes next)"
    if entry.previous_hash != previous_hash:
        return "it does not follow the row before it"
    return None if entry.hash == entry.seal() else "it was changed"


def _entry(row: Row[Any]) -> Entry:
    return Entry(**row._mapping)
