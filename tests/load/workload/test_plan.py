from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import islice

import msgspec
import pytest

from turnout_load.errors import BadData, BadOption
from turnout_load.spec import Target, Workload
from turnout_load.workload.body import body, encode, extended
from turnout_load.workload.plan import Built, build
from turnout_load.workload.synthetic import Synthetic
from turnout_load.workload.work import Conversation, Message, Planned

TARGET = Target(url="http://127.0.0.1/v1", model="small")
EVERYTHING = Workload(
    arrivals="gamma",
    rate=20,
    burstiness=2,
    input_tokens="lognormal:mean=80,sd=40",
    output_tokens="uniform:low=5,high=50",
    turns="uniform:low=1,high=3",
    think_time_s="lognormal:mean=2,sd=1",
    shared_prefix_tokens=30,
    mix="search=0.7,batch@5=0.3",
)
# Prints a digest of all that a plan sends, and when.
IN_ANOTHER_PROCESS = """
import hashlib, msgspec, sys
from turnout_load.spec import Target, Workload
from turnout_load.workload.body import body, encode
from turnout_load.workload.plan import build
workload = msgspec.json.decode(sys.argv[1], type=Workload)
target = Target(url="http://127.0.0.1/v1", model="small")
digest = hashlib.sha256()
for planned in build(workload, 7, 10, None).plan.planned(0, 1):
    digest.update(str(planned.offset_ns).encode())
    for turn in planned.conversation.turns:
        digest.update(encode(body(target, planned.conversation, (), turn, True)))
print(digest.hexdigest())
"""

Sent = list[tuple[int, int | None, list[tuple[float, bytes]]]]


def turns_of(planned: Planned) -> list[tuple[float, bytes]]:
    history: tuple[Message, ...] = ()
    sent = []
    for turn in planned.conversation.turns:
        made = body(TARGET, planned.conversation, history, turn, True)
        sent.append((turn.think_time_s, encode(made)))
        history = extended(history, turn, "whatever", live=False)
    return sent


def sent(built: Built, shards: int = 1) -> Sent:
    """All that the shards send, in the order of their numbers."""
    planned = [one for shard in range(shards) for one in built.plan.planned(shard, shards)]
    return sorted((one.index, one.offset_ns, turns_of(one)) for one in planned)


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


def test_two_runs_send_the_same_bytes_at_the_same_times() -> None:
    first = sent(build(EVERYTHING, 7, 10, None))
    assert len(first) > 100
    assert sent(build(EVERYTHING, 7, 10, None)) == first
    assert sent(build(EVERYTHING, 8, 10, None)) != first


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_however_many_processes_share_a_run_it_sends_the_same(shards: int) -> None:
    first = sent(build(EVERYTHING, 7, 10, None))
    assert sent(build(EVERYTHING, 7, 10, None), shards) == first
    assert [index for index, _, _ in first] == list(range(len(first)))


def test_another_process_makes_the_same_whatever_its_hashes_are() -> None:
    digests = {
        subprocess.run(
            (sys.executable, "-c", IN_ANOTHER_PROCESS, msgspec.json.encode(EVERYTHING)),
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
    digest = hashlib.sha256()
    for planned in build(EVERYTHING, 7, 10, None).plan.planned(0, 1):
        digest.update(str(planned.offset_ns).encode())
        for turn in planned.conversation.turns:
            digest.update(encode(body(TARGET, planned.conversation, (), turn, True)))
    assert digests == {digest.hexdigest()}


def test_a_shard_makes_only_its_own_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def conversation(self: object, index: int) -> Conversation:
        made.append(index)
        return Conversation(())

    monkeypatch.setattr(Synthetic, "conversation", conversation)
    planned = list(build(Workload(rate=10), 1, 1, None).plan.planned(1, 4))
    assert made == [one.index for one in planned] == [1, 5, 9]


def test_a_run_ends_with_its_duration_or_requests_whichever_is_first() -> None:
    assert len(sent(build(Workload(rate=8), 1, 20, None))) == 160
    assert len(sent(build(Workload(rate=8), 1, 20, 50))) == 50
    assert len(sent(build(Workload(rate=8), 1, 1, 50))) == 8


def test_a_closed_loop_has_conversations_without_starts() -> None:
    built = build(Workload(arrivals="closed", users=3), 1, 5, 4)
    assert built.is_closed
    assert [(index, offset) for index, offset, _ in sent(built, 2)] == [
        (0, None),
        (1, None),
        (2, None),
        (3, None),
    ]


def test_synthetic_requests_ask_for_64_tokens_unless_told_otherwise() -> None:
    def asked(workload: Workload) -> int | None:
        return next(build(workload, 1, 1, None).plan.planned(0, 1)).conversation.turns[0].max_tokens

    assert asked(Workload()) == 64
    assert asked(Workload(output_tokens="fixed:9")) == 9


def test_a_trace_keeps_its_own_times_faster(azure: str) -> None:
    built = build(Workload(trace=f"azure:{azure}", speed=60), 1, None, None)
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
    write: Callable[..., str], kind: str
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
    turns = [one.conversation.turns[0].input_tokens for one in built.plan.planned(0, 1)]
    assert turns == [30, 40, 30]


def test_lines_that_were_left_out_are_told(write: Callable[..., str]) -> None:
    path = write("chats.jsonl", "{broken", '{"messages": [{"role": "user", "content": "Hi"}]}')
    built = build(Workload(dataset=path), 1, None, 1)
    assert [str(problem).startswith(f"{path}:1: JSON is malformed") for problem in built.problems]
    assert built.notes == (f"{path}: 1 line could not be used: left out",)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload(trace="azure"), "--trace 'azure': expected azure:PATH, mooncake:PATH"),
        (Workload(trace="s3:x"), "--trace 's3:x'"),
        (Workload(trace="azure:x", dataset="y"), "no --dataset beside it"),
        (Workload(dataset="y", dataset_format="xml"), "--dataset-format 'xml'"),
        (Workload(speed=0), "--speed '0'"),
        (Workload(history="none"), "--history 'none': expected recorded or live"),
        (Workload(shared_prefix_tokens=-1), "--shared-prefix-tokens '-1'"),
        (Workload(input_tokens="long"), "--input-tokens 'long'"),
        (Workload(output_tokens="long"), "--output-tokens 'long'"),
        (Workload(turns="long"), "--turns 'long'"),
        (Workload(think_time_s="long"), "--think-time-s 'long'"),
        (Workload(mix="all"), "--mix 'all'"),
    ],
)
def test_an_option_that_cannot_be_read_is_refused_by_its_name(
    workload: Workload, message: str
) -> None:
    with pytest.raises(BadOption, match=message):
        build(workload, 1, 10, None)


@pytest.mark.parametrize(("duration_s", "requests"), [(0, None), (-1, None), (None, 0)])
def test_a_run_that_sends_nothing_is_refused(
    duration_s: float | None, requests: int | None
) -> None:
    with pytest.raises(BadOption, match=r"--duration|--requests"):
        build(Workload(), 1, duration_s, requests)


def test_a_dataset_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadData, match=r"nowhere.jsonl: cannot be read: No such file"):
        build(Workload(dataset="nowhere.jsonl"), 1, 10, None)
