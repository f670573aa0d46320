"""Makes the output and the error file of a batch from its results."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec

from turnout.batches.batch import Batch, Status
from turnout.batches.file import File
from turnout.batches.journal import results_in
from turnout.batches.line import Line, unanswered
from turnout.batches.lines import lines_of
from turnout.batches.means import Means
from turnout.store.batches import move
from turnout.store.engine import writing
from turnout.store.files import insert_file

NOT_IN_TIME = "This request could not be executed before the completion window expired."


@dataclass
class _Written:
    """What went into each file."""

    done: set[int] = field(default_factory=set)
    completed: int = 0
    failed: int = 0


async def finish(means: Means, batch: Batch, status: Status, now_s: float, **values: Any) -> None:
    """Ends a batch in a state, with what was done as files; raises OSError or the store's errors.

    Done again after a crash it makes the same files. Changes nothing where another gateway has the
    batch by now.
    """
    names = {True: _file_id(batch, "output"), False: _file_id(batch, "error")}
    uploads = {ok: means.folder.upload(f"{name}.{batch.worker}") for ok, name in names.items()}
    with ExitStack() as stack:
        files = {ok: stack.enter_context(path.open("wb")) for ok, path in uploads.items()}
        written = await _write(means, batch, files, tells_unfinished=status == "expired")
    sizes = {ok: path.stat().st_size for ok, path in uploads.items()}
    for ok, path in uploads.items():
        if sizes[ok]:
            await asyncio.to_thread(means.folder.put, path, names[ok])
        else:
            path.unlink()
    ids = {ok: names[ok] if sizes[ok] else None for ok in names}
    counts = {"completed": written.completed, "failed": written.failed}
    files_are = {"output_file_id": ids[True], "error_file_id": ids[False]}
    async with writing(means.store) as connection:
        if await move(connection, batch, status, now_s, **files_are, **counts, **values):
            for ok, file_id in ids.items():
                if file_id is not None:
                    await insert_file(connection, _file(means, batch, file_id, sizes[ok], now_s))


async def _write(
    means: Means, batch: Batch, files: Mapping[bool, BinaryIO], *, tells_unfinished: bool
) -> _Written:
    written = _Written()
    async for result in results_in(means.folder.results(batch.id)):
        written.done.add(result.n)
        written.completed += result.ok
        written.failed += not result.ok
        files[result.ok].write(bytes(result.line) + b"\n")
    if tells_unfinished and batch.total:
        with suppress(FileNotFoundError):
            path = means.folder.contents(batch.input_file_id)
            async for number, raw in lines_of(path, means.max_line_bytes):
                if number not in written.done:
                    written.failed += 1
                    files[False].write(_not_in_time(batch, number, raw) + b"\n")
    return written


def _not_in_time(batch: Batch, number: int, raw: bytes) -> bytes:
    custom_id = msgspec.json.decode(raw, type=Line).custom_id
    return unanswered(line_id(batch, number), custom_id, "batch_expired", NOT_IN_TIME)


def line_id(batch: Batch, number: int) -> str:
    """Returns the id of a line's result."""
    return f"batch_req_{batch.id.removeprefix('batch_')}{number:x}"


def _file_id(batch: Batch, kind: str) -> str:
    return f"file-{batch.id.removeprefix('batch_')}{kind}"


def _file(means: Means, batch: Batch, file_id: str, size: int, now_s: float) -> File:
    kind = "output" if file_id.endswith("output") else "error"
    return File(
        id=file_id,
        team=batch.team,
        key_id=batch.key_id,
        purpose="batch_output",
        filename=f"{batch.id}_{kind}.jsonl",
        bytes=size,
        created_at_s=now_s,
        expires_at_s=now_s + means.batches.keep_files_s,
    )
