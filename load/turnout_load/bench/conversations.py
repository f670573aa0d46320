"""Prompts of an everyday product, from small talk to code and sums: what routing is tried on."""

from __future__ import annotations

import json
from pathlib import Path

EASY = (
    "Hello! How are you today?",
    "Say thank you to a colleague in one sentence.",
    "What is the capital of France?",
    "Give me another word for happy.",
    "Is the sky blue? Answer yes or no.",
    "Write a one-line birthday greeting for my sister.",
    "What day comes after Tuesday?",
    "Name three fruits.",
    "Translate 'good morning' into Spanish.",
    "Shorten this: The meeting that was planned for Monday has been moved to Wednesday.",
    "What colour do you get from blue and yellow?",
    "Finish the sentence: The early bird catches the",
)
HARD = (
    "Write a Python function that returns the longest palindromic substring of a string in O(n).",
    "A train leaves at 09:40 at 84 km/h, another one follows at 10:10 at 112 km/h. When and where "
    "does the second catch up? Show each step.",
    "Prove that the square root of 3 is irrational.",
    "Explain how a B+ tree splits a node, and write the insertion in C.",
    "Derive the closed form of the sum of k squared for k from 1 to n by induction.",
    "Write an SQL query for the second highest salary in each department, with ties, and say why "
    "it is right.",
    "Given f(x) = x^3 - 6x^2 + 9x + 1, find all local extrema and inflection points, with proof.",
    "Implement a thread-safe LRU cache with expiry in Python and discuss its complexity.",
    "A patient takes 40 mg of a drug with a half-life of 6 hours every 8 hours. What is the peak "
    "amount in steady state?",
    "Compare optimistic and pessimistic concurrency control for a ticket shop under peak load.",
    "Write a regular expression for RFC 3339 timestamps and name two inputs on which naive ones "
    "fail.",
    "Find the eigenvalues and eigenvectors of [[2, 1, 0], [1, 2, 1], [0, 1, 2]].",
)


def write_conversations(path: Path) -> None:
    """Writes the prompts as a dataset, easy and hard ones in turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    prompts = [prompt for pair in zip(EASY, HARD, strict=True) for prompt in pair]
    lines = [json.dumps({"messages": [{"role": "user", "content": each}]}) for each in prompts]
    path.write_text("\n".join(lines) + "\n")
