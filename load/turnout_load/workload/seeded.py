"""Random generators by purpose and number, so that any process can make any part of a workload."""

from __future__ import annotations

from random import Random


def generator(seed: int, purpose: str, index: int = 0) -> Random:
    """Returns the generator for one purpose and number of a seed, the same in every process.

    `Random` hashes a text with SHA-512, not with the interpreter's own salted `hash()`.
    """
    return Random(f"{seed}/{purpose}/{index}")
