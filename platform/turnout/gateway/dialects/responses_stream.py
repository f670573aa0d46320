"""An engine's chat stream as the events of OpenAI's Responses API. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnout.gateway.dialects.answer import COMMENT, bare_id, error_of, event
from turnout.gateway.dialects.read import Fields
from turnout.gateway.dialects.responses_answer import (
    Item,
    ending,
    error_fields,
    function_call,
    message,
    reasoning,
    response,
    text_content,
    thought_content,
)
from turnout.gateway.errors import RequestError
from turnout.gateway.resume.chunk import Chunk, Delta, read
from turnout.gateway.sse import DONE, Usage

Content = Callable[[str], Item]


class ResponseEvents:
    """Translates one stream: items come one after the other, each added, filled and done."""

    def __init__(self, asked: Fields) -> None:
        self._asked = asked
        self._number = 0
        self._begun: Item | None = None
        self._base = ""
        self._output: list[Item] = []
        self._open: _OpenItem | None = None
        self._finish_reason: str | None = None
        self._used = Usage(0, 0)
        self._has_ended = False

    def feed(self, events: Sequence[bytes]) -> bytes:
        """Returns the client's events."""
        out: list[bytes] = []
        for each in events:
            if self._has_ended:
                break
            if each == DONE:
                self._end(out)
            elif (chunk := read(each)) is not None:
                self._take(chunk, out)
            elif each.startswith(COMMENT):
                out.append(each)
        return b"".join(out)

    def failed(self, error: RequestError) -> bytes:
        """Returns the event that ends a stream which broke off."""
        self._has_ended = True
        return event("error", error_fields(error, self._number))

    def _event(self, kind: str, **fields: Any) -> bytes:
        number, self._number = self._number, self._number + 1
        return event(f"response.{kind}", {"sequence_number": number, **fields})

    def _take(self, chunk: Chunk, out: list[bytes]) -> None:
        if chunk.error is not None:
            out.append(self.failed(error_of(chunk)))
            return
        if self._begun is None:
            self._base = bare_id(chunk.id)
            self._begun = response(self._base, chunk.created, chunk.model, self._asked)
            out.append(self._event("created", response=self._begun))
            out.append(self._event("in_progress", response=self._begun))
        self._used = Usage.of({"usage": chunk.usage}) or self._used
        for choice in chunk.choices or ():
            if choice.delta is not None:
                self._say(choice.delta, out)
            self._finish_reason = choice.finish_reason or self._finish_reason

    def _say(self, delta: Delta, out: list[bytes]) -> None:
        if thought := delta.reasoning or delta.reasoning_content:
            self._add_text("reasoning", thought, out)
        if isinstance(delta.content, str) and delta.content:
            self._add_text("message", delta.content, out)
        for call in delta.tool_calls or ():
            self._add_call(call, out)

    def _add_text(self, key: str, text: str, out: list[bytes]) -> None:
        if self._needs(key, out):
            make, content, kind = _TEXTS[key]
            item = make(self._base, len(self._output), "")
            opened = _OpenItem(key, item, len(self._output), kind, content)
            self._start(opened, {"content": []}, out)
            place = {**opened.place, "content_index": 0}
            out.append(self._event("content_part.added", **place, part=content("")))
        assert self._open is not None
        self._open.texts.append(text)
        more: Item = {"logprobs": []} if key == "message" else {}
        place = {**self._open.place, "content_index": 0}
        out.append(self._event(f"{self._open.kind}.delta", **place, delta=text, **more))

    def _add_call(self, call: Mapping[str, Any], out: list[bytes]) -> None:
        key, function = f"call {call.get('index')}", call.get("function") or {}
        if self._needs(key, out):
            named = (call.get("id") or "", function.get("name") or "", "")
            item = function_call(self._base, len(self._output), *named)
            opened = _OpenItem(key, item, len(self._output), "function_call_arguments")
            self._start(opened, {"arguments": ""}, out)
        assert self._open is not None
        if arguments := function.get("arguments"):
            self._open.texts.append(arguments)
            kind = f"{self._open.kind}.delta"
            out.append(self._event(kind, **self._open.place, delta=arguments))

    def _needs(self, key: str, out: list[bytes]) -> bool:
        """Tells whether an item has to be started; the one that is open is done then."""
        if self._open is not None and self._open.key == key:
            return False
        self._finish_item(out)
        return True

    def _start(self, opened: "_OpenItem", empty: Item, out: list[bytes]) -> None:
        self._open = opened
        item = {**opened.item, **empty, "status": "in_progress"}
        out.append(self._event("output_item.added", output_index=opened.index, item=item))

    def _finish_item(self, out: list[bytes], status: str = "completed") -> None:
        opened, self._open = self._open, None
        if opened is None:
            return
        text = "".join(opened.texts)
        if opened.content is None:
            item = {**opened.item, "arguments": text, "status": status}
            kind = f"{opened.kind}.done"
            out.append(self._event(kind, **opened.place, name=item["name"], arguments=text))
        else:
            part = opened.content(text)
            item = {**opened.item, "content": [part], "status": status}
            place = {**opened.place, "content_index": 0}
            more: Item = {"logprobs": []} if opened.key == "message" else {}
            out.append(self._event(f"{opened.kind}.done", **place, text=text, **more))
            out.append(self._event("content_part.done", **place, part=part))
        self._output.append(item)
        out.append(self._event("output_item.done", output_index=opened.index, item=item))

    def _end(self, out: list[bytes]) -> None:
        ended = ending(self._finish_reason, (), self._used)
        self._finish_item(out, ended["status"])
        self._has_ended = True
        whole = {**(self._begun or {}), **ended, "output": self._output}
        out.append(self._event(ended["status"], response=whole))


class _OpenItem:
    """An item that is being filled."""

    def __init__(
        self, key: str, item: Item, index: int, kind: str, content: Content | None = None
    ) -> None:
        self.key, self.item, self.index, self.kind, self.content = key, item, index, kind, content
        self.texts: list[str] = []
        self.place = {"item_id": item["id"], "output_index": index}


_TEXTS: Mapping[str, tuple[Callable[[str, int, str], Item], Content, str]] = {
    "reasoning": (reasoning, thought_content, "reasoning_text"),
    "message": (message, text_content, "output_text"),
}
