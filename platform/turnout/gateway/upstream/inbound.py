"""What an upstream answers, in the shape that engines here answer in. Pure.

Servers differ in how they write event streams: line ends, a space after `data:`, comments, where
usage comes and whether `[DONE]` does. What comes out is as vLLM writes it, under the model's name
here. What an upstream says of its own failures stays here: it may name keys and accounts.
"""

from typing import Any

import msgspec

from turnout.gateway.sse import DONE, error_event

SSE = "text/event-stream; charset=utf-8"
Fields = dict[str, msgspec.Raw]


class _Choice(msgspec.Struct):
    index: int = 0
    finish_reason: str | None = None


_fields = msgspec.json.Decoder(Fields).decode
_choices = msgspec.json.Decoder(list[_Choice]).decode
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NULL = b"null"


def failure(problem: str) -> dict[str, Any]:
    """Returns an upstream's failure as an engine's error."""
    return {"error": {"message": f"the upstream {problem}", "type": "server_error", "code": 502}}


def whole(data: bytes, model: str) -> bytes | None:
    """Returns a whole answer under the model's name here; None where it is no answer."""
    try:
        fields = _fields(data)
    except _NOT_JSON:
        return None
    if _has(fields, "error") or not (_has(fields, "choices") or _has(fields, "data")):
        return None
    return msgspec.json.encode({**fields, "model": model})


class Events:
    """Rewrites one stream."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._rest = b""
        self._data: list[bytes] = []
        self._head: Fields = {}
        self._usage: msgspec.Raw | None = None
        self._open: set[int] = set()
        self._has_finished = self._is_done = False

    def feed(self, chunk: bytes) -> bytes:
        """Returns the events that these bytes complete."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return b"".join([self._line(line.removesuffix(b"\r")) for line in lines])

    def end(self) -> bytes:
        """Returns what a stream lacks that has ended in good order, else nothing."""
        left = self.feed(b"\n\n")
        if not self._is_done and self._has_finished and not self._open:
            left += self._ending()
        return left

    def _line(self, line: bytes) -> bytes:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            return b"" if self._is_done else self._event(data)
        return b""

    def _event(self, data: bytes) -> bytes:
        if data.strip() == b"[DONE]":
            return self._ending()
        try:
            fields = _fields(data)
            choices = _choices(fields["choices"]) if _has(fields, "choices") else []
        except _NOT_JSON:
            return error_event(failure("sent what is no event"))
        if _has(fields, "error"):
            return error_event(failure("failed in its answer"))
        if _has(fields, "usage"):
            self._usage = fields["usage"]
        fields.pop("usage", None)
        if not choices:
            return b""
        self._note(choices)
        self._head = fields
        return _written({**fields, "model": self._model})

    def _note(self, choices: list[_Choice]) -> None:
        for choice in choices:
            if choice.finish_reason is None:
                self._open.add(choice.index)
            else:
                self._has_finished = True
                self._open.discard(choice.index)

    def _ending(self) -> bytes:
        """Usage comes once, before the end, wherever the upstream told it."""
        self._is_done = True
        if self._usage is None:
            return DONE
        known: tuple[str, ...] = ("id", "object", "created")
        head = {name: self._head[name] for name in known if name in self._head}
        last: dict[str, Any] = {**head, "model": self._model, "choices": [], "usage": self._usage}
        return _written(last) + DONE


def _has(fields: Fields, name: str) -> bool:
    return name in fields and bytes(fields[name]) != _NULL


def _written(fields: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(fields) + b"\n\n"
