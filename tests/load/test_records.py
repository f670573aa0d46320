from __future__ import annotations

import pickle
import tracemalloc

import pytest

from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records


def a_record(index: int) -> Record:
    return Record(
        index=index,
        turn=1,
        intended_ns=index * 1_000_000,
        sent_ns=index * 1_000_000 + 10_000,
        first_ns=index * 1_000_000 + 50_000_000,
        last_ns=index * 1_000_000 + 400_000_000,
        end_ns=index * 1_000_000 + 400_100_000,
        status=200,
        chunks=32,
        longest_gap_ns=12_000_000,
        input_tokens=512,
        output_tokens=32,
        cached_tokens=256,
        priority=3,
        connected=index % 2 == 0,
        model="".join(["sm", "all"]),  # a new object each time, as from a parsed answer
        team="search",
        error="" if index % 10 else "http 429",
        detail="" if index % 10 else "too many requests",
        request_id=f"chatcmpl-{index:032x}",
    )


def filled(indexes: range) -> Records:
    records = Records()
    for index in indexes:
        records.append(a_record(index))
    return records


def test_records_come_back_as_they_were_kept() -> None:
    unknown = Record(index=7)
    records = filled(range(3))
    records.append(unknown)
    assert list(records) == [a_record(0), a_record(1), a_record(2), unknown]
    assert (records[1], records[-1], len(records)) == (a_record(1), unknown, 4)
    assert records[0].connected is True
    assert records[-1].sent_ns == UNKNOWN


def test_a_position_past_the_last_record_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        filled(range(3))[3]


def test_a_column_holds_one_field_of_every_record() -> None:
    records = filled(range(3))
    assert list(records.column("intended_ns")) == [0, 1_000_000, 2_000_000]
    assert list(records.column("error")) == ["http 429", "", ""]
    with pytest.raises(KeyError):
        records.column("prompt")


def test_a_text_that_records_share_is_kept_once() -> None:
    assert len({id(model) for model in filled(range(100)).column("model")}) == 1


def test_another_processs_records_and_gaps_join() -> None:
    records, other = filled(range(2)), filled(range(2, 5))
    records.add_gap(10)
    other.add_gap(30)
    records.extend(other)
    assert [record.index for record in records] == [0, 1, 2, 3, 4]
    assert (records.gaps.count, records.gaps.minimum, records.gaps.maximum) == (2, 10, 30)
    assert len(other) == 3


def test_records_chosen_by_a_mask_leave_the_others_as_they_are() -> None:
    records = filled(range(4))
    chosen = records.where([False, True, False, True])
    assert list(chosen) == [a_record(1), a_record(3)]
    assert len(records) == 4


def test_records_cross_processes_small_and_whole() -> None:
    records = filled(range(10_000))
    records.add_gap(10)
    sent = pickle.dumps(records)
    received = pickle.loads(sent)
    assert list(received) == list(records)
    assert vars(received.gaps) == vars(records.gaps)
    assert len(sent) < 10_000 * 200


def test_a_hundred_thousand_records_would_take_40_mib() -> None:
    tracemalloc.start()
    try:
        records = filled(range(10_000))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(records) == 10_000
    assert taken * 10 < 40 * 2**20
