"""A fake vLLM that has tokens: ids, half characters, stop strings, continuation and /detokenize.

Its detokenizer and its stop strings follow vLLM 0.29's `v1/engine/detokenizer.py`. The answer is
always the same, as in greedy decoding, and goes on after whatever part of it the prompt has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.platform.gateway.fake_engine import FakeEngine, error_body

FIRST_ID, EOS = 1000, 2
HALF = "\N{REPLACEMENT CHARACTER}"
STRINGS = [b"Gr\xc3", b"\xbc\xc3", b"\x9fe", b" an ", b"\xe4", b"\xb8\x96\xe7", b"\x95", b"\x8c"]
EMOJI = [b" ", b"\xf0", b"\x9f\x99", b"\x82", b" END", b" of", b" it", b". ", b"Bye", b"!"]


class TokenEngine(FakeEngine):
    """One replica; those of one model share `tokens` and `cuts`."""

    def __init__(
        self,
        tokens: Sequence[bytes] = (*STRINGS, *EMOJI),
        cuts: list[int] | None = None,
        model: str = "small",
    ) -> None:
        super().__init__(model)
        self.tokens = list(tokens)
        self.cuts = cuts if cuts is not None else []
        """After how many events each generation dies, in the order that they come."""
        self.per_chunk = 1
        self.gives_ids = True
        self.has_tokenizer = True
        self.prompt_ids = [3, 1, 4, 1, 5]
        self.kind = "chat.completion.chunk"

    async def _respond(self, path: str, body: dict[str, Any], send: Any) -> None:
        if path == "/detokenize":
            self.answer = self.detokenized(body) if self.has_tokenizer else (404, b"{}")
        elif self.cuts:
            self.dies_after = self.cuts.pop(0)
        else:
            self.dies_after = None
        await super()._respond(path, body, send)
        if path == "/detokenize":
            self.answer = None

    def detokenized(self, body: dict[str, Any]) -> tuple[int, bytes]:
        text = self._bytes(body["tokens"]).decode(errors="replace")
        return 200, json.dumps({"prompt": text}).encode()

    def _bytes(self, ids: Sequence[int]) -> bytes:
        return b"".join(self.tokens[i - FIRST_ID] for i in ids if i >= FIRST_ID)

    def events(self, path: str, body: dict[str, Any]) -> list[bytes]:
        """Returns the stream of a whole answer, or of what is left of it."""
        is_chat = "chat" in path
        prompt = body.get("prompt")
        start = 0
        if isinstance(prompt, list):
            start = len(prompt) - len(self.prompt_ids)
            right = [*self.prompt_ids, *range(FIRST_ID, FIRST_ID + start)]
            if prompt != right:
                return [b"data: " + error_body(f"not my ids: {prompt}") + b"\n\n"]
        elif (said := self._said(body)) is not None:
            start = self._token_after(said)
        shows_ids = bool(body.get("return_token_ids")) and self.gives_ids
        self.kind = "chat.completion.chunk" if is_chat else "text_completion"
        events = []
        prompt_ids = self.prompt_ids if shows_ids else None
        if is_chat:
            first = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None}
            more = {"prompt_token_ids": prompt_ids}
            events.append(self._event({"choices": [{**first, "finish_reason": None}], **more}))
        count = 0
        for ids, text, finish, stopped in self._generated(start, body):
            new: dict[str, Any] = {"delta": {"content": text}} if is_chat else {"text": text}
            choice = {"index": 0, **new, "logprobs": None, "finish_reason": finish}
            if finish is not None or not is_chat:
                choice["stop_reason"] = stopped
            if not is_chat:
                choice["prompt_token_ids"] = prompt_ids if not count else None
            choice["token_ids"] = ids if shows_ids else None
            events.append(self._event({"choices": [choice]}))
            count += len(ids)
        if (body.get("stream_options") or {}).get("include_usage"):
            prompt_tokens = len(self.prompt_ids) + start
            usage = {
                "prompt_tokens": prompt_tokens,
                "total_tokens": prompt_tokens + count,
                "completion_tokens": count,
            }
            events.append(self._event({"choices": [], "usage": usage}))
        return [*events, b"data: [DONE]\n\n"]

    def _event(self, chunk: dict[str, Any]) -> bytes:
        return super()._event({"object": self.kind, **chunk})

    def _said(self, body: dict[str, Any]) -> str | None:
        if body.get("continue_final_message"):
            return str(body["messages"][-1]["content"])
        prompt = body.get("prompt")
        return prompt.removeprefix("Hi") if isinstance(prompt, str) else None

    def _token_after(self, said: str) -> int:
        """Returns the token after a text, which has to end where a token does."""
        for count in range(len(self.tokens) + 1):
            if b"".join(self.tokens[:count]) == said.encode():
                return count
        raise AssertionError(f"no token ends after {said!r}")

    def _generated(self, start: int, body: dict[str, Any]) -> Any:
        """Yields chunks: ids, text, finish reason, stop string."""
        stop = body.get("stop") or []
        stops = [stop] if isinstance(stop, str) else stop
        keeps = bool(body.get("include_stop_str_in_output"))
        buffer = max(map(len, stops), default=1) - 1 if not keeps else 0
        before = b"".join(self.tokens[:start]).decode(errors="replace")
        if before.endswith(HALF):
            before = ""  # what tokenizers' DecodeStream does: all of the prompt comes out
        at_most = body.get("max_tokens") or body.get("max_completion_tokens") or 1 << 30
        text, sent, ids = "", 0, []
        for number, at in enumerate(range(start, len(self.tokens) + 1), 1):
            is_end = at == len(self.tokens)
            ids.append(EOS if is_end else FIRST_ID + at)
            new = b"".join(self.tokens[: at + 1]).decode(errors="replace")
            scanned = len(text)
            if not new.endswith(HALF):
                text = new[len(before) :]
            finish, stopped = ("stop" if is_end else None), None
            if number >= at_most and not is_end:
                finish = "length"
            if found := _first_stop(text, scanned, stops):
                end, begin, stopped = found
                finish, text = "stop", text[: end if keeps else begin]
            if finish is None and len(ids) < self.per_chunk:
                continue
            upto = len(text) if finish else max(sent, len(text) - buffer)
            yield ids, text[sent:upto], finish, stopped
            ids, sent = [], max(sent, upto)
            if finish:
                return


def _first_stop(text: str, scanned: int, stops: list[str]) -> tuple[int, int, str] | None:
    found = [
        (at + len(stop), at, stop)
        for stop in stops
        if len(text) > scanned and (at := text.find(stop, max(0, scanned - len(stop) + 1))) >= 0
    ]
    return min(found, key=lambda each: each[0], default=None)
