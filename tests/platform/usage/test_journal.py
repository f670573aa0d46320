"""The queue on disk: one write a record, bounded, readable whatever its last line looks like."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from turnout.usage.folder import Folder, FolderInUse
from turnout.usage.journal import Journal, JournalBounds, Tally, read_segment
from turnout.usage.record import UsageRecord

RecordOf = Callable[..., UsageRecord]
TINY = JournalBounds(segment_bytes=1, total_bytes=10**6)


def journal_in(path: Path, bounds: JournalBounds | None = None) -> tuple[Journal, Tally]:
    tally = Tally()
    return Journal(Folder.claim(path, within_s=0), tally, bounds), tally


def test_a_noted_record_is_in_the_file_before_note_returns(
    tmp_path: Path, record_of: RecordOf
) -> None:
    journal, _ = journal_in(tmp_path / "gw")
    record = record_of(id="abc", ttft_s=None, itl_s=0.0123456789)
    journal.note(record)
    [segment] = (tmp_path / "gw").glob("*.jsonl")
    kept = json.loads(segment.read_text())
    assert kept["id"] == "abc"
    assert kept["itl_s"] == 0.0123456789
    assert kept["ttft_s"] is None
    assert read_segment(segment, Tally()) == [record]


def test_a_record_is_appended_with_one_write(
    tmp_path: Path, record_of: RecordOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, _ = journal_in(tmp_path / "gw")
    journal.note(record_of())
    writes: list[int] = []
    write = os.write

    def counted(descriptor: int, data: bytes) -> int:
        writes.append(len(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", counted)
    monkeypatch.setattr(os, "fsync", lambda _fd: pytest.fail("nothing waits for the disk"))
    journal.note(record_of())
    assert len(writes) == 1


def test_the_journal_is_for_its_user_alone(tmp_path: Path, record_of: RecordOf) -> None:
    journal, _ = journal_in(tmp_path / "usage" / "gw")
    journal.note(record_of())
    assert (tmp_path / "usage" / "gw").stat().st_mode & 0o777 == 0o700
    [segment] = (tmp_path / "usage" / "gw").glob("*.jsonl")
    assert segment.stat().st_mode & 0o777 == 0o600


def test_segments_are_handed_out_oldest_first_and_deleted_when_done(
    tmp_path: Path, record_of: RecordOf
) -> None:
    journal, _ = journal_in(tmp_path / "gw", TINY)
    for _ in range(12):
        journal.note(record_of())
    seen = []
    while (segment := journal.oldest()) is not None:
        seen += [record.id for record in read_segment(segment, Tally())]
        journal.done(segment)
    assert seen == [f"r{number}" for number in range(12)]
    assert not list((tmp_path / "gw").glob("*.jsonl"))
    assert journal.backlog_bytes == 0


def test_a_database_that_is_down_for_long_makes_few_files(
    tmp_path: Path, record_of: RecordOf
) -> None:
    journal, _ = journal_in(tmp_path / "gw")
    for _ in range(200):
        journal.note(record_of())
        journal.oldest()  # the writer looks, and fails
    assert len(list((tmp_path / "gw").glob("*.jsonl"))) == 2


def test_a_full_journal_keeps_what_it_has_and_logs_the_new_record_whole(
    tmp_path: Path, record_of: RecordOf, caplog: pytest.LogCaptureFixture
) -> None:
    journal, tally = journal_in(tmp_path / "gw", JournalBounds(segment_bytes=1, total_bytes=500))
    with caplog.at_level(logging.ERROR, "turnout.usage.journal"):
        journal.note(record_of())
        journal.note(record_of(id="late", completion_tokens=77))
    assert (tally.noted, tally.logged) == (1, 1)
    [event] = caplog.records
    assert event.message == "usage_not_journalled"
    assert event.__dict__["record"]["id"] == "late"
    assert event.__dict__["record"]["completion_tokens"] == 77
    segment = journal.oldest()
    assert segment is not None
    assert [each.id for each in read_segment(segment, tally)] == ["r0"]
    journal.done(segment)
    journal.note(record_of())  # there is room again
    assert (tally.noted, tally.logged) == (2, 1)


def test_a_disk_that_refuses_fails_no_request(
    tmp_path: Path, record_of: RecordOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, tally = journal_in(tmp_path / "gw")

    def full(_fd: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        journal.note(record_of())
    journal.note(record_of(id="after"))
    assert (tally.noted, tally.logged) == (1, 1)
    segment = journal.oldest()
    assert segment is not None
    assert [each.id for each in read_segment(segment, tally)] == ["after"]


def test_half_a_record_on_a_full_disk_is_taken_back(
    tmp_path: Path, record_of: RecordOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, tally = journal_in(tmp_path / "gw")
    journal.note(record_of(id="before"))
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
        journal.note(record_of(id="half"))
    journal.note(record_of(id="after"))
    segment = journal.oldest()
    assert segment is not None
    assert [each.id for each in read_segment(segment, tally)] == ["before", "after"]
    assert (tally.noted, tally.logged, tally.torn) == (2, 1, 0)


@pytest.mark.parametrize(
    "tail",
    [b'{"id":"r9","at_s":17000', b"\x00" * 300, b'{"id":"\xff\xfe', b"\xf0\x9f", b'{"id":"r9"}'],
    ids=["cut", "zeros", "not-utf8", "half-a-character", "fields-missing"],
)
def test_a_torn_last_line_is_left_out_and_counted(
    tmp_path: Path, record_of: RecordOf, tail: bytes
) -> None:
    journal, tally = journal_in(tmp_path / "gw")
    journal.note(record_of())
    segment = journal.oldest()
    assert segment is not None
    with segment.open("ab") as file:
        file.write(tail)
    assert [each.id for each in read_segment(segment, tally)] == ["r0"]
    assert tally.torn == 1


def test_a_line_of_an_older_version_lacks_newer_fields_and_is_read(
    tmp_path: Path, record_of: RecordOf
) -> None:
    path = tmp_path / "000000000001.jsonl"
    old = {"id": "a", "at_s": 1.0, "team": "t", "key_id": "k", "endpoint": "chat", "model": "m"}
    path.write_text(json.dumps({**old, "market": "spot", "status": 200, "gone": 1}) + "\n")
    [record] = read_segment(path, Tally())
    assert (record.id, record.prompt_tokens, record.attempts) == ("a", 0, 1)


def test_two_processes_cannot_share_a_folder(tmp_path: Path) -> None:
    journal, _ = journal_in(tmp_path / "gw")
    with pytest.raises(FolderInUse, match="give each its own folder"):
        Folder.claim(tmp_path / "gw", within_s=0)
    assert Folder.try_claim(tmp_path / "gw") is None
    journal.close()
    Folder.claim(tmp_path / "gw", within_s=0).release()


def test_a_closed_journal_leaves_a_folder_only_if_it_holds_records(
    tmp_path: Path, record_of: RecordOf
) -> None:
    empty, _ = journal_in(tmp_path / "empty")
    empty.close()
    full, _ = journal_in(tmp_path / "full")
    full.note(record_of())
    full.close()
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_a_restarted_process_goes_on_after_the_segments_it_finds(
    tmp_path: Path, record_of: RecordOf
) -> None:
    first, _ = journal_in(tmp_path / "gw")
    first.note(record_of())
    first.close()
    again, tally = journal_in(tmp_path / "gw")
    again.note(record_of())
    seen = []
    while (segment := again.oldest()) is not None:
        seen += [each.id for each in read_segment(segment, tally)]
        again.done(segment)
    assert seen == ["r0", "r1"]
    assert again.backlog_bytes == 0


def test_a_folder_removed_while_it_was_being_opened_is_not_taken_for_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gw"
    path.mkdir()
    opened = os.open

    def open_then_lose(*args: object, **kwargs: object) -> int:
        descriptor = opened(*args, **kwargs)  # type: ignore[arg-type]
        (path / "lock").unlink()
        path.rmdir()
        return descriptor

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_then_lose)
        assert Folder.try_claim(path) is None
    Folder.claim(path, within_s=0).release()
