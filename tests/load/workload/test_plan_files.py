from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice

import msgspec
import pytest

from turnout_load.errors import BadData
from turnout_load.spec import Workload
from turnout_load.workload.plan import Built, build

Sent = list[tuple[int, int | None, list[tuple[float, bytes]]]]


def seconds(built: Built, count: int = 100) -> list[float]:
    offsets = [planned.offset_ns for planned in islice(built.plan.planned(0, 1), count)]
    return [(offset or 0) / 1e9 for offset in offsets]


@pytest.fixture
def azure(write: Callable[..., str]) -> str:
    rows = [f"2023-11-16 18:00:{second:02}.5000000,{20 + second},5" for second in range(0, 60, 6)]
    return write("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens", *rows)


@pytest.fixture
def chats(write: Callable[..., str]) -> str:
    rows = [json.dumps({"messages": [{"role": "user", "content": f"{n}?"}]}) for n in range(3)]
    return write("chats.jsonl", *rows)


def test_skipping_goes_on_where_another_run_ended(
    sent: Callable[..., Sent], azure: str, chats: str
) -> None:
    def contents(workload: Workload, requests: int) -> list[list[tuple[float, bytes]]]:
        return [turns for _, _, turns in sent(build(workload, 1, None, requests))]

    for workload in (Workload(), Workload(trace=f"azure:{azure}"), Workload(dataset=chats)):
        later = msgspec.structs.replace(workload, skip=3)
        assert contents(workload, 3) + contents(later, 4) == contents(workload, 7)


def test_a_trace_that_skips_begins_with_its_first_request(azure: str) -> None:
    built = build(Workload(trace=f"azure:{azure}", skip=7), 1, None, None)
    assert [(one.index, one.offset_ns) for one in built.plan.planned(0, 1)] == [
        (0, 0),
        (1, 6_000_000_000),
        (2, 12_000_000_000),
    ]


@pytest.mark.parametrize(("skip", "notes"), [(6, 0), (7, 1), (10, 1), (11, 1)])
def test_skipping_counts_against_a_traces_size(azure: str, skip: int, notes: int) -> None:
    built = build(Workload(trace=f"azure:{azure}", skip=skip), 1, None, 4)
    assert len(seconds(built)) == max(0, min(4, 10 - skip))
    assert len(built.notes) == notes


def test_a_trace_keeps_its_own_times_faster(azure: str) -> None:
    workload = Workload(trace=f"azure:{azure}", speed=60, arrivals="closed")
    built = build(workload, 1, None, None)
    assert not built.is_closed
    assert seconds(built) == pytest.approx([second / 10 for second in range(10)])


def test_a_traces_duration_is_the_runs_and_not_the_recordings(azure: str) -> None:
    built = build(Workload(trace=f"azure:{azure}", speed=60), 1, 0.5, None)
    assert len(seconds(built)) == 5


def test_a_trace_ends_with_its_last_request_and_says_so(azure: str) -> None:
    built = build(Workload(trace=f"azure:{azure}"), 1, None, 30)
    assert len(seconds(built)) == 10
    assert built.notes == ("the trace has 10 requests; 30 were asked for: it ends sooner",)


@pytest.mark.parametrize("kind", ["azure", "burstgpt", "mooncake", "log"])
def test_every_kind_of_trace_is_sent_the_same_by_any_shards(
    sent: Callable[..., Sent], write: Callable[..., str], kind: str
) -> None:
    lines = {
        "azure": ("TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:00:00.0,9,5"),
        "burstgpt": ("Timestamp,Model,Request tokens,Response tokens", "5,GPT-4,9,3", "6,G,7,1"),
        "mooncake": (
            '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}',
            '{"timestamp": 9, "input_length": 700, "output_length": 5, "hash_ids": [0, 2]}',
        ),
        "log": ('{"t_s": 1, "input_tokens": 30}', '{"t_s": 2, "input_tokens": 30}'),
    }
    workload = Workload(trace=f"{kind}:{write('trace', *lines[kind])}", mix="a=1,b=1")
    first = sent(build(workload, 1, None, None))
    assert first
    assert sent(build(workload, 1, None, None), 3) == first


def test_a_dataset_starts_over_and_says_so(chats: str) -> None:
    built = build(Workload(dataset=chats, rate=10), 1, None, 7)
    asked = [one.conversation.turns[0].messages[0]["content"] for one in built.plan.planned(0, 1)]
    assert asked == ["0?", "1?", "2?", "0?", "1?", "2?", "0?"]
    assert [note.partition(": ")[0] for note in built.notes] == [
        "the dataset has 3 conversations; 7 were asked for"
    ]


@pytest.mark.parametrize(
    ("workload", "asked"),
    [
        (Workload(rate=2), 20),
        (Workload(arrivals="ramp", rate=0, ramp_to=4), 20),
        (Workload(arrivals="steps", steps=(1, 3)), 20),
        (Workload(rate=0.3), None),
        (Workload(arrivals="closed"), None),
    ],
)
def test_a_duration_tells_how_many_conversations_to_expect(
    chats: str, workload: Workload, asked: int | None
) -> None:
    built = build(msgspec.structs.replace(workload, dataset=chats), 1, 10, None)
    assert [f"; {asked} were" in note for note in built.notes] == ([True] if asked else [])


def test_a_log_is_told_from_chats(write: Callable[..., str]) -> None:
    path = write("log.jsonl", '{"t_s": 3, "input_tokens": 30}', '{"t_s": 1, "input_tokens": 40}')
    built = build(Workload(dataset=path, rate=10), 1, None, 3)
    assert seconds(built) == [0, 0.1, 0.2]
    turns = [one.conversation.turns[0] for one in built.plan.planned(0, 1)]
    assert [len(turn.messages[0]["content"].split()) for turn in turns] == [30, 40, 30]


def test_lines_that_were_left_out_are_told(write: Callable[..., str]) -> None:
    path = write("chats.jsonl", "{broken", '{"messages": [{"role": "user", "content": "Hi"}]}')
    built = build(Workload(dataset=path), 1, None, 1)
    assert [str(problem).startswith(f"{path}:1: JSON is malformed") for problem in built.problems]
    assert built.notes == (f"{path}: 1 line could not be used: left out",)


def test_a_dataset_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadData, match=r"nowhere.jsonl: cannot be read: No such file"):
        build(Workload(dataset="nowhere.jsonl"), 1, 10, None)
