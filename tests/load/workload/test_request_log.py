from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from turnout_load.errors import BadData
from turnout_load.workload import request_log
from turnout_load.workload.source import Source
from turnout_load.workload.text import Prose
from turnout_load.workload.work import Conversation, Turn

MESSAGES = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Bye"},
]


def read(path: str, *, timed: bool = True) -> Source:
    return request_log.read(path, Prose(), 1, timed=timed)


def words(turn: Turn) -> int:
    return len(turn.messages[0]["content"].split())


def line(**fields: object) -> str:
    return json.dumps(fields)


def test_a_line_is_one_request_with_all_its_messages(write: Callable[..., str]) -> None:
    sent = line(t_s=3, messages=MESSAGES, max_tokens=9, team="search", priority=2, temperature=0.5)
    assert read(write("log.jsonl", sent)).dataset.conversation(0) == Conversation(
        (Turn(tuple(MESSAGES), max_tokens=9),), "search", 2, {"temperature": 0.5}
    )


def test_a_line_without_messages_becomes_text_of_its_length(write: Callable[..., str]) -> None:
    path = write("log.jsonl", line(t_s=0, input_tokens=40, output_tokens=7, max_tokens=99))
    dataset = read(path).dataset
    (turn,) = dataset.conversation(0).turns
    assert (words(turn), turn.max_tokens) == (40, 7)
    assert dataset.conversation(1).turns[0].messages != turn.messages


def test_a_replay_is_in_the_order_of_its_times_from_the_earliest(write: Callable[..., str]) -> None:
    rows = [line(t_s=t, input_tokens=n) for t, n in ((12.5, 1), (10, 2), (11.25, 3))]
    source = read(write("log.jsonl", *rows))
    assert list(source.offsets_ns or ()) == [0, 1_250_000_000, 2_500_000_000]
    assert [words(source.dataset.conversation(i).turns[0]) for i in range(3)] == [2, 3, 1]


def test_a_dataset_is_in_the_files_order_and_needs_no_times(write: Callable[..., str]) -> None:
    rows = [line(input_tokens=5), line(input_tokens=6)]
    source = read(write("log.jsonl", *rows), timed=False)
    assert source.offsets_ns is None
    assert [words(source.dataset.conversation(i).turns[0]) for i in range(3)] == [5, 6, 5]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (line(input_tokens=5), "it has no t_s, which a replay needs"),
        (line(t_s=-1, input_tokens=5), "Expected `float` >= 0.0 - at `$.t_s`"),
        (line(t_s=1), "it has no messages"),
        (line(t_s=1, messages=[{"role": "user"}]), "message 0 has no content"),
        (line(t_s=1, input_tokens=10**9), "Expected `int` <= 10000000 - at `$.input_tokens`"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_replayed(
    write: Callable[..., str], row: str, problem: str
) -> None:
    path = write("log.jsonl", row, line(t_s=4, input_tokens=5))
    source = read(path)
    assert [str(named) for named in source.problems] == [f"{path}:1: {problem}"]
    assert source.size == 1


def test_this_tools_own_csv_is_replayed_with_teams_and_priorities(
    write: Callable[..., str],
) -> None:
    path = write(
        "requests.csv",
        "index,turn,intended_ms,input_tokens,output_tokens,team,priority,error",
        '0,0,0.000000,12,3,"search, web",-1,',
        "1,0,250.500000,20,-1,batch,5,timeout",
        "2,0,1000.000001,20,4,,5,",
    )
    source = read(path)
    assert list(source.offsets_ns or ()) == [0, 1_000_000_001]
    first, second = (source.dataset.conversation(i) for i in range(2))
    assert (first.team, first.priority) == ("search, web", None)
    assert (second.team, second.priority) == ("", 5)
    assert (words(second.turns[0]), second.turns[0].max_tokens) == (20, 4)
    assert source.notes == (f"{path}: requests without output tokens (they failed): 1 left out",)
    assert read(path, timed=False).offsets_ns is None


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("requests.csv", ["whatever"], True),
        ("log.jsonl", ["{broken", line(t_s=1, messages=MESSAGES)], True),
        ("log.jsonl", [line(input_tokens=5)], True),
        ("chats.jsonl", [line(messages=MESSAGES)], False),
        ("sharegpt.json", ["[", line(t_s=1)[:-1], "]"], False),
    ],
)
def test_a_log_is_known_by_its_name_or_first_object(
    write: Callable[..., str], name: str, rows: list[str], expected: bool
) -> None:
    assert request_log.is_log(write(name, *rows)) is expected


def test_a_log_of_no_use_is_refused(write: Callable[..., str]) -> None:
    with pytest.raises(BadData, match=r"log.jsonl:1: "):
        read(write("log.jsonl", "{}"))
