"""How far an answer has come: the text its client has, and the token ids it was made of. Pure."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from io import StringIO

from turnout.gateway.resume.chunk import Chunk
from turnout.gateway.sse import Usage


@dataclass
class Progress:
    """Filled chunk by chunk, over every replica that worked on the answer.

    A commit point is a place where text and ids agree: engines give a character out once all its
    bytes are there, so after a chunk with text nothing is half. Ids after the last commit point
    are half a character, or were skipped; they are generated again.
    """

    answers: int = 1
    """How many answers to each prompt were asked for (`n`)."""
    head: Chunk | None = None
    """The first chunk: what names the stream."""
    prompt_ids: list[int] | None = None
    prompt_tokens: int = 0
    """Of all prompts together."""
    ids: array[int] = field(default_factory=lambda: array("q"))
    commit: int = 0
    """How many of the ids had become text at the last commit point."""
    commit_size: int = 0
    """Ids in the chunk that ended there. Of several, the last may be half a character after all."""
    pieces: int = 0
    """Chunks with text: about the number of tokens where an engine gives no ids."""
    pieces_before: int = 0
    """Of them, those before the last seam."""
    finish_reason: str | None = None
    usage: Usage | None = None
    has_shown_usage: bool = False
    is_odd: bool = False
    """Whether there was something in the stream that text alone cannot repeat."""
    _text: StringIO = field(default_factory=StringIO)

    @property
    def text(self) -> str:
        """All that the client was sent."""
        return self._text.getvalue()

    @property
    def has_ids(self) -> bool:
        """Whether the engine tells token ids."""
        return self.prompt_ids is not None

    @property
    def tokens(self) -> int:
        """How many tokens were generated, as far as they are part of the answer."""
        return len(self.ids) or self.pieces

    @property
    def used(self) -> Usage:
        """What the answer has cost so far."""
        if self.usage is not None:
            return self.usage
        return Usage(self.prompt_tokens, self.tokens)

    def take(self, chunk: Chunk) -> None:
        """Takes in a chunk of the first replica's stream."""
        choices = chunk.choices or ()
        if self.head is None and choices:
            self.head = chunk
        for choice in choices:
            if prompt := choice.prompt_token_ids or chunk.prompt_token_ids:
                self._take_prompt(prompt, choice.index)
            delta = choice.delta
            if delta is not None and not delta.is_text and (delta.is_more or choice.token_ids):
                self.is_odd = True
            self.add(choice.said, choice.token_ids, choice.said)
            if choice.finish_reason is not None:
                self.finish_reason = choice.finish_reason
        if (used := chunk.used) is not None:
            self.usage = used

    def _take_prompt(self, ids: list[int], index: int) -> None:
        if self.prompt_ids is None:
            self.prompt_ids = ids
        if index % self.answers == 0:
            self.prompt_tokens += len(ids)

    def add(self, said: str, ids: list[int] | None, sent: str) -> None:
        """Takes in what an engine said, and how much of it went to the client."""
        if ids:
            self.ids.extend(ids)
        if said:
            self.pieces += 1
            self.commit = len(self.ids)
            self.commit_size = len(ids) if ids else 0
            if self.has_ids and not ids:
                self.is_odd = True
        if sent:
            self._text.write(sent)

    def say(self, text: str, ids: list[int]) -> None:
        """Does what `add` does, for a text and ids of which neither is empty; once per token."""
        self.ids.extend(ids)
        self.pieces += 1
        self.commit = len(self.ids)
        self.commit_size = len(ids)
        self._text.write(text)

    def back_to(self, count: int) -> None:
        """Forgets the ids after the first `count`: they will be generated again."""
        del self.ids[count:]
        self.commit = min(self.commit, count)
