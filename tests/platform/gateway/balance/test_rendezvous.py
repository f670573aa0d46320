"""Gateways that never talk agree, and a replica that goes moves only its own keys."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from turnout.gateway.balance.rendezvous import key_of, score

NAMES = [f"replica-{number}" for number in range(8)]


def winner(key: int, names: list[str]) -> str:
    return max(names, key=lambda name: score(key, key_of(name)))


def test_another_process_agrees() -> None:
    code = (
        "from turnout.gateway.balance.rendezvous import *; print(score(key_of('s'), key_of('r')))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(said.stdout) == score(key_of("s"), key_of("r"))


def test_keys_spread_evenly() -> None:
    won = Counter(winner(key_of(f"session {number}"), NAMES) for number in range(8000))
    assert min(won.values()) > 850  # 1,000 expected, with a deviation of 30
    assert max(won.values()) < 1150


def test_a_replica_that_goes_moves_only_its_own_keys() -> None:
    keys = [key_of(f"session {number}") for number in range(1000)]
    for key in keys:
        before = winner(key, NAMES)
        after = winner(key, NAMES[1:])
        assert after == before or before == NAMES[0]
