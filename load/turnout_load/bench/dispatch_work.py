"""Conversations of several products, each with a long system prompt of its own. Pure and seeded."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import msgspec

from turnout_load.workload.seeded import generator
from turnout_load.workload.text import Prose

PRODUCTS = 12
SYSTEM_WORDS = 480
QUESTION_WORDS = (20, 60)
ANSWER_TOKENS = 40
TURNS = (2, 6)


def conversations(count: int, seed: int) -> list[dict[str, Any]]:
    """Returns conversations as a dataset has them; the first products are asked most (1/rank)."""
    prose, chance = Prose(), generator(seed, "dispatch")
    systems = [prose.text(chance, SYSTEM_WORDS) for _ in range(PRODUCTS)]
    weights = [1 / rank for rank in range(1, PRODUCTS + 1)]
    return [
        {"messages": _messages(prose, chance, system), "max_tokens": ANSWER_TOKENS}
        for system in chance.choices(systems, weights, k=count)
    ]


def _messages(prose: Prose, chance: Random, system: str) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": system}]
    for _ in range(chance.randint(*TURNS)):
        asked = prose.text(chance, chance.randint(*QUESTION_WORDS))
        messages.append({"role": "user", "content": asked})
        messages.append({"role": "assistant", "content": prose.text(chance, ANSWER_TOKENS)})
    return messages[:-1]


def write_conversations(path: Path, count: int, seed: int) -> None:
    """Writes them as JSONL."""
    path.write_bytes(b"\n".join(map(msgspec.json.encode, conversations(count, seed))) + b"\n")
