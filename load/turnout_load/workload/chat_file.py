"""Files of conversations: JSONL or one JSON array, of chat messages or in ShareGPT's form.

    {"messages": [{"role": "user", "content": "…"}, …], "max_tokens": 64, "team": "search",
     "priority": 1, "temperature": 0}
    {"conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]}

All but the messages is optional. An assistant's message ends a turn and is its recorded answer.
Each conversation is read again from the mapped file when it is sent: a process keeps 16 bytes for
each line, or about 100 for each entry of an array.
"""

from __future__ import annotations

import re
from array import array
from mmap import mmap
from typing import Any

import msgspec

from turnout_load.errors import BadData
from turnout_load.workload.messages import body_fields, turns
from turnout_load.workload.reading import Problems, Tokens, decoded, lines, mapped
from turnout_load.workload.source import Source
from turnout_load.workload.work import Conversation, Message

ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
}
"""OpenAI's name of each speaker in ShareGPT's form."""


class Said(msgspec.Struct):
    """One message in ShareGPT's form."""

    speaker: str = msgspec.field(name="from")
    value: str


class Chat(msgspec.Struct):
    """What is read of a conversation, beside the fields that are sent as they are."""

    messages: list[dict[str, Any]] = []
    conversations: list[Said] = []
    max_tokens: Tokens | None = None
    team: str | None = None
    priority: int | None = None


class Lines:
    """The text of each usable line, by its number among them."""

    def __init__(self, data: mmap) -> None:
        self._data = data
        self._spans = array("Q")

    def append(self, start: int, end: int) -> None:
        """Keeps where a line lies."""
        self._spans.extend((start, end))

    def __len__(self) -> int:
        return len(self._spans) // 2

    def __getitem__(self, number: int) -> bytes:
        return self._data[self._spans[2 * number] : self._spans[2 * number + 1]]


class ChatFile:
    """Conversations of a file, in its order, from the first again after the last."""

    def __init__(self, texts: Lines | list[msgspec.Raw]) -> None:
        self._texts = texts

    def conversation(self, index: int) -> Conversation:
        """Returns the conversation with this number."""
        return parse(self._texts[index % len(self._texts)])


def read(path: str) -> Source:
    """Reads and checks a file; raises BadData if no conversation in it can be used."""
    data = mapped(path)
    problems = Problems(path)
    first = next(lines(data), None)
    is_array = first is not None and first.text.startswith(b"[")
    texts = _array(data, problems) if is_array else _lines(data, problems)
    named = problems.checked(len(texts))
    return Source(ChatFile(texts), len(texts), problems=named, notes=problems.notes)


def parse(text: bytes | msgspec.Raw) -> Conversation:
    """Returns one conversation; raises ValueError, saying what is wrong with it."""
    fields = decoded(text, dict[str, Any])
    chat = msgspec.convert(fields, Chat)
    return Conversation(
        turns(chat.messages or _messages(chat.conversations), chat.max_tokens),
        chat.team or "",
        chat.priority,
        body_fields(fields),
    )


def _messages(conversations: list[Said]) -> list[Message]:
    for said in conversations:
        if said.speaker not in ROLES:
            raise ValueError(f"from {said.speaker!r}: expected {', '.join(ROLES)}")
    return [{"role": ROLES[said.speaker], "content": said.value} for said in conversations]


def _lines(data: mmap, problems: Problems) -> Lines:
    texts = Lines(data)
    for line in lines(data):
        try:
            parse(line.text)
        except ValueError as error:
            problems.add(line.number, error)
        else:
            texts.append(line.start, line.end)
    return texts


def _array(data: mmap, problems: Problems) -> list[msgspec.Raw]:
    texts = []
    for number, text in enumerate(_entries(data, problems.path), 1):
        try:
            parse(text)
        except ValueError as error:
            problems.add(None, f"entry {number}: {error}")
        else:
            texts.append(text)
    return texts


def _entries(data: mmap, path: str) -> list[msgspec.Raw]:
    """Returns the array's entries, as views of the mapped file."""
    try:
        return decoded(memoryview(data), list[msgspec.Raw])
    except ValueError as error:
        at = re.search(r"\(byte (\d+)\)", str(error))
        line = data[: int(at[1])].count(b"\n") + 1 if at else None
        raise BadData(path, line, f"no JSON array of conversations: {error}") from error
