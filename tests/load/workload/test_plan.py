from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest

from turnout_load.errors import BadOption
from turnout_load.spec import Target, Workload
from turnout_load.workload.body import body, encode
from turnout_load.workload.plan import build
from turnout_load.workload.synthetic import Synthetic
from turnout_load.workload.work import Conversation

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


def test_two_runs_send_the_same_bytes_at_the_same_times(sent: Callable[..., Sent]) -> None:
    first = sent(build(EVERYTHING, 7, 10, None))
    assert len(first) > 100
    assert sent(build(EVERYTHING, 7, 10, None)) == first
    assert sent(build(EVERYTHING, 8, 10, None)) != first


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_however_many_processes_share_a_run_it_sends_the_same(
    sent: Callable[..., Sent], shards: int
) -> None:
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


def test_a_run_ends_with_its_duration_or_requests_whichever_is_first(
    sent: Callable[..., Sent],
) -> None:
    assert len(sent(build(Workload(rate=8), 1, 20, None))) == 160
    assert len(sent(build(Workload(rate=8), 1, 20, 50))) == 50
    assert len(sent(build(Workload(rate=8), 1, 1, 50))) == 8


def test_a_closed_loop_has_conversations_without_starts(sent: Callable[..., Sent]) -> None:
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


def test_recorded_replies_are_as_long_as_the_turns_ask_for() -> None:
    for planned in build(EVERYTHING, 7, 10, None).plan.planned(0, 1):
        for turn in planned.conversation.turns[:-1]:
            assert len((turn.reply or "").split(" ")) == turn.max_tokens


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload(trace="azure"), "--trace 'azure': expected azure:PATH, mooncake:PATH"),
        (Workload(trace="s3:x"), "--trace 's3:x'"),
        (Workload(trace="azure:x", dataset="y"), "no --dataset beside it"),
        (Workload(dataset="y", dataset_format="xml"), "--dataset-format 'xml'"),
        (Workload(speed=0), "--speed '0'"),
        (Workload(skip=-1), "--skip '-1'"),
        (Workload(history="none"), "--history 'none': expected recorded or live"),
        (Workload(shared_prefix_tokens=-1), "--shared-prefix-tokens '-1'"),
        (Workload(input_tokens="long"), "--input-tokens 'long'"),
        (Workload(output_tokens="long"), "--output-tokens 'long'"),
        (Workload(turns="long"), "--turns 'long'"),
        (Workload(think_time_s="long"), "--think-time 'long'"),
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
