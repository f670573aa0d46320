"""Reads the events of one stream without parsing them: all but their text and ids are the same.

A stream of tokens is thousands of events that differ in two places. From one that was parsed a
template is made; an event that fits it byte for byte is read by slicing. Pure.
"""

from typing import NamedTuple

from turnout.gateway.resume.chunk import Choice, Chunk

_IDS = b'"token_ids":['


Piece = tuple[str, list[int], bytes]
"""What a token's event says, its text and ids; and the event as a client sees it."""


class Template(NamedTuple):
    """An event's bytes before its text, from there to its ids, and after these."""

    before: bytes
    between: bytes
    after: bytes
    shown: bytes
    """What a client sees after the text."""

    def read(self, event: bytes) -> Piece | None:
        """Returns what an event says; None where it is of another form."""
        if not (event.startswith(self.before) and event.endswith(self.after)):
            return None
        start = len(self.before)
        end = event.find(b'"', start)
        if not event.startswith(self.between, end):
            return None
        said = event[start:end]
        if b"\\" in said:
            return None
        try:
            if not self.after:
                whole = end + len(self.between) == len(event)
                return (said.decode(), [], event) if whole else None
            ids = event[end + len(self.between) : -len(self.after)]
            numbers = [int(ids)] if b"," not in ids else [int(each) for each in ids.split(b",")]
            return said.decode(), numbers, event[:end] + self.shown
        except ValueError:  # no number, or no UTF-8
            return None


def template_of(event: bytes, chunk: Chunk) -> Template | None:
    """Returns the template of a token's event; None of any other."""
    choice = chunk.choices[0] if chunk.choices and len(chunk.choices) == 1 else None
    if choice is None or not _is_plain(chunk, choice):
        return None
    key = b'"text":"' if choice.delta is None else b'"content":"'
    start = event.find(key) + len(key)
    end = event.find(b'"', start)
    if event[start:end] != choice.said.encode():
        return None
    if not choice.token_ids:
        return Template(event[:start], event[end:], b"", b"")
    at = event.find(_IDS, end) + len(_IDS)
    stop = event.find(b"]", at)
    if event[at:stop] != ",".join(map(str, choice.token_ids)).encode():
        return None
    shown = event[end : at - 1] + b"null" + event[stop + 1 :]
    return Template(event[:start], event[end:at], event[stop:], shown)


def _is_plain(chunk: Chunk, choice: Choice) -> bool:
    """Tells whether a chunk only adds text to the one answer."""
    told = (
        chunk.usage,
        chunk.error,
        chunk.prompt_token_ids,
        choice.prompt_token_ids,
        choice.finish_reason,
    )
    if any(each is not None for each in told) or choice.index or not choice.said:
        return False
    return choice.delta is None or (choice.delta.is_text and choice.delta.role is None)
