"""The write-behind queue on disk: every record is with the operating system before `note` returns.

A killed process loses nothing; a machine that loses its power may lose what the kernel had not
written yet (nothing waits for the disk). What a journal may hold is bounded. Beyond that, or where
the disk refuses, the journal keeps what it has, and the new record goes whole into the log
(`usage_not_journalled`) and is counted: it can be entered from there, and is never lost silently.
"""

import logging
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from turnout.usage.folder import Folder
from turnout.usage.record import UsageRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JournalBounds:
    """How large a journal and its segments may grow; a record takes about 350 bytes."""

    segment_bytes: int = 256 * 1024
    total_bytes: int = 1024 * 1024 * 1024


@dataclass
class Tally:
    """What became of records in this process."""

    noted: int = 0
    """On disk."""
    logged: int = 0
    """Only in the log: the journal was full or the disk refused."""
    stored: int = 0
    """Newly in the database."""
    known: int = 0
    """Already in the database when they were written again."""
    refused: int = 0
    """Set aside because the database does not take them."""
    torn: int = 0
    """Lines that a power cut or a full disk left unreadable."""
    failures: int = 0
    """Times that the database could not be written to."""


class Journal:
    """One process's segments: appends to the newest, hands the others to the writer."""

    def __init__(self, folder: Folder, tally: Tally, bounds: JournalBounds | None = None) -> None:
        self._folder = folder
        self._tally = tally
        self._bounds = bounds or JournalBounds()
        self._sealed = folder.segments()
        self._sealed_bytes = sum(path.stat().st_size for path in self._sealed)
        self._next = int(self._sealed[-1].stem) + 1 if self._sealed else 1
        self._descriptor: int | None = None
        self._open_bytes = 0
        self._encoder = msgspec.json.Encoder()

    @property
    def backlog_bytes(self) -> int:
        """Bytes that are not in the database yet."""
        return self._sealed_bytes + self._open_bytes

    def note(self, record: UsageRecord) -> None:
        """Appends a record with one `write`; never raises."""
        line = self._encoder.encode(record) + b"\n"
        if self.backlog_bytes + len(line) > self._bounds.total_bytes:
            return self._log_instead(record, "the journal is full")
        try:
            self._append(line)
        except OSError as error:
            return self._log_instead(record, error.strerror or "the disk refused it")
        self._tally.noted += 1
        if self._open_bytes >= self._bounds.segment_bytes:
            self.seal()
        return None

    def _append(self, line: bytes) -> None:
        if self._descriptor is None:
            path = self._folder.segment(self._next)
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        written = os.write(self._descriptor, line)
        if written < len(line):  # a disk that is nearly full
            os.ftruncate(self._descriptor, self._open_bytes)
            raise OSError(0, "the disk took only part of a record")
        self._open_bytes += written

    def _log_instead(self, record: UsageRecord, why: str) -> None:
        self._tally.logged += 1
        extra = {"why": why, "record": msgspec.to_builtins(record)}
        log.error("usage_not_journalled", extra=extra)

    def seal(self) -> None:
        """Ends the current segment, so that it can be written to the database."""
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        self._sealed.append(self._folder.segment(self._next))
        self._sealed_bytes += self._open_bytes
        self._next, self._open_bytes = self._next + 1, 0

    def oldest(self) -> Path | None:
        """Returns the sealed segment to write next; seals the current one where it is the last."""
        if not self._sealed:
            self.seal()
        return self.sealed

    @property
    def sealed(self) -> Path | None:
        """The oldest segment that nothing more is appended to."""
        return self._sealed[0] if self._sealed else None

    def done(self, path: Path) -> None:
        """Deletes a segment whose records are in the database."""
        size = path.stat().st_size
        path.unlink()
        self._sealed.remove(path)
        self._sealed_bytes -= size

    def close(self) -> None:
        """Ends the journal; what is left in it is replayed by whoever comes next."""
        self.seal()
        self._folder.release()


def read_segment(path: Path, tally: Tally) -> list[UsageRecord]:
    """Returns a segment's records; lines that cannot be read are counted and left out."""
    records = []
    for line in path.read_bytes().splitlines():
        try:
            records.append(msgspec.json.decode(line, type=UsageRecord))
        except msgspec.MsgspecError:
            tally.torn += 1
            log.warning("usage_line_unreadable", extra={"segment": path.name})
    return records
