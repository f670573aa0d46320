from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from turnout_load.spec import Target
from turnout_load.workload.body import body, encode
from turnout_load.workload.plan import Built
from turnout_load.workload.work import Message, Planned

TARGET = Target(url="http://127.0.0.1/v1", model="small")
Sent = list[tuple[int, int | None, list[tuple[float, bytes]]]]


def turns_of(planned: Planned) -> list[tuple[float, bytes]]:
    history: tuple[Message, ...] = ()
    sent = []
    for turn in planned.conversation.turns:
        made = body(TARGET, planned.conversation, history, turn, True)
        sent.append((turn.think_time_s, encode(made)))
        history += (*turn.messages, {"role": "assistant", "content": turn.reply})
    return sent


def all_sent(built: Built, shards: int = 1) -> Sent:
    """All that the shards send, in the order of their numbers."""
    planned = [one for shard in range(shards) for one in built.plan.planned(shard, shards)]
    return sorted((one.index, one.offset_ns, turns_of(one)) for one in planned)


@pytest.fixture
def sent() -> Callable[..., Sent]:
    """Returns a function that lists all that a built plan's shards send."""
    return all_sent


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Returns a function that writes lines to a file of a name, and returns its path."""

    def written(name: str, *lines: str, end: str = "\n") -> str:
        path = tmp_path / name
        path.write_text("".join(line + end for line in lines), encoding="utf-8")
        return str(path)

    return written
