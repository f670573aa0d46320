"""A client that streams an answer, and the count of what it noticed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import aiohttp

DATA = b"data: "
KEPT_PROBLEMS = 20


@dataclass(frozen=True)
class Answer:
    """A whole answer as a client has it."""

    text: str
    prompt_tokens: int
    completion_tokens: int


async def streamed(
    session: aiohttp.ClientSession, url: str, model: str, prompt: str, tokens: int
) -> Answer | str:
    """Returns a greedy answer, or what went wrong."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    text, used, is_done = [], None, False
    try:
        async with session.post(f"{url}/chat/completions", json=body) as answer:
            if answer.status != 200:
                return f"status {answer.status}: {(await answer.text())[:200]}"
            async for line in answer.content:
                if not line.startswith(DATA):
                    continue
                if line.strip() == b"data: [DONE]":
                    is_done = True
                    continue
                chunk = json.loads(line[len(DATA) :])
                if "error" in chunk:
                    return f"error event: {chunk['error'].get('message')}"
                used = chunk.get("usage") or used
                text += [c["delta"].get("content") or "" for c in chunk["choices"]]
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    if not is_done or used is None:
        return "the stream ended early"
    return Answer("".join(text), used["prompt_tokens"], used["completion_tokens"])


@dataclass
class Tally:
    """How streams came."""

    kills: int = 0
    streams: int = 0
    failures: int = 0
    wrong_texts: int = 0
    wrong_usage: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, answer: Answer | str, expected: Answer) -> None:
        """Counts one."""
        self.streams += 1
        if isinstance(answer, str):
            self.failures += 1
            self._note(answer)
            return
        if answer.text != expected.text:
            self.wrong_texts += 1
            self._note(_difference(answer.text, expected.text))
        counts = (answer.prompt_tokens, answer.completion_tokens)
        if counts != (expected.prompt_tokens, expected.completion_tokens):
            self.wrong_usage += 1
            self._note(f"usage {counts}, not {expected.prompt_tokens, expected.completion_tokens}")

    def _note(self, problem: str) -> None:
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(problem)


def _difference(found: str, expected: str) -> str:
    pairs = zip(found, expected, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))
    around = slice(max(0, at - 10), at + 10)
    return f"at character {at}: {found[around]!r}, not {expected[around]!r}"
