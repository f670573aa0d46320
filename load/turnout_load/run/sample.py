"""A sample of answers whose usage is checked: kept while they come, counted when all is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from turnout_load.errors import BadData
from turnout_load.metrics.usage import Lengths
from turnout_load.record import UNKNOWN, Record
from turnout_load.spec import Spec

MOST = 256
"""Answers that a process keeps: its first ones after the warm-up."""
MOST_BYTES = 16 * 2**20
"""Of their requests and texts; no more are kept beyond it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One answer, and what its server told."""

    payload: bytes
    """The request as it was sent."""
    text: str | None
    """None where more than text was generated."""
    input_tokens: int
    output_tokens: int


class Sample:
    """The first answers of a process, where the spec names a tokenizer."""

    def __init__(self, spec: Spec) -> None:
        self.kept: list[Kept] = []
        self._warm_up_ns = spec.warm_up_s * 1e9
        self._places = MOST if spec.workload.tokenizer else 0
        self._bytes = MOST_BYTES

    def takes(self, record: Record) -> bool:
        """Says whether this request's answer is to be added, and holds a place for it."""
        is_taken = self._places > 0 and record.intended_ns >= self._warm_up_ns
        self._places -= is_taken
        return is_taken

    def add(self, record: Record, payload: bytes, text: str | None) -> None:
        """Keeps an answer; one that failed gives its place to another."""
        if not record.ok:
            self._places += 1
            return
        self._bytes -= len(payload) + len(text or "")
        if self._bytes >= 0:
            self.kept.append(Kept(payload, text, record.input_tokens, record.output_tokens))
        else:
            self._places = 0


def lengths(sample: Sequence[Kept], path: str, tokenizer: Any) -> Lengths:
    """Counts a sample's tokens; raises BadData where the tokenizer of this path cannot."""
    output, prompt = [], []
    try:
        for kept in sample:
            if kept.text is not None and kept.output_tokens != UNKNOWN:
                output.append((kept.output_tokens, _tokens(tokenizer, kept.text)))
            counted = _prompt_tokens(tokenizer, kept.payload)
            if counted is not None and kept.input_tokens != UNKNOWN:
                prompt.append((kept.input_tokens, counted))
    except Exception as error:  # tokenizers raises nothing more exact
        raise BadData(path, None, f"cannot count a text's tokens: {error}") from error
    return Lengths(tuple(output), tuple(prompt))


def _prompt_tokens(tokenizer: Any, payload: bytes) -> int | None:
    """Returns a prompt's tokens, or of a chat those of its texts; None where it has other parts."""
    body = msgspec.json.decode(payload.partition(b"\r\n\r\n")[2])
    if "prompt" in body:
        return len(tokenizer.encode(body["prompt"]))  # with what the server puts around it too
    texts = [_text(message) for message in body["messages"]]
    if "tools" in body or None in texts:
        return None
    return sum(_tokens(tokenizer, text) for text in texts if text is not None)


def _text(message: Mapping[str, Any]) -> str | None:
    """Returns a message's text, or None where it is not all of the message."""
    content = message.get("content")
    if "tool_calls" in message or not isinstance(content, str | list):
        return None
    if isinstance(content, str):
        return content
    if any(part.get("type") != "text" for part in content):
        return None
    return "".join(str(part.get("text", "")) for part in content)


def _tokens(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False))
