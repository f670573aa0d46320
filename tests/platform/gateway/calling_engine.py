"""A fake vLLM that thinks, calls tools, stops at a stop string and knows about its cache.

The shapes are those of vLLM 0.29's `chat_completion/serving.py` and its tool and reasoning parsers.
"""

from __future__ import annotations

import json
from typing import Any

from tests.platform.gateway.fake_engine import FakeEngine


class CallingEngine(FakeEngine):
    """Says its thought and its words, then makes its calls: `(name, pieces of arguments)`."""

    def __init__(self, model: str = "small") -> None:
        super().__init__(model)
        self.thought = ""
        self.calls: tuple[tuple[str, tuple[str, ...]], ...] = ()
        self.finish_reason = "stop"
        self.stop_reason: str | None = None
        self.cached_tokens = 0
        self.token_ids = [1, 2, 3]

    async def _respond(self, path: str, body: dict[str, Any], send: Any) -> None:
        if path == "/detokenize":
            self.answer = 200, json.dumps({"prompt": "hello"}).encode()
        await super()._respond(path, body, send)

    def _tokenized(self) -> tuple[int, bytes]:
        status, data = super()._tokenized()
        if status != 200:
            return status, data
        return 200, json.dumps({**json.loads(data), "tokens": self.token_ids}).encode()

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        return {
            **super().usage(body),
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }

    def _call(self, index: int) -> dict[str, Any]:
        name, pieces = self.calls[index]
        function = {"name": name, "arguments": "".join(pieces)}
        return {"id": f"chatcmpl-tool-{index}", "type": "function", "function": function}

    def whole_answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": "".join(self.words) or None,
            "reasoning": self.thought or None,
            "tool_calls": [self._call(index) for index in range(len(self.calls))],
        }
        ended = {"finish_reason": self.finish_reason, "stop_reason": self.stop_reason}
        choice = {"index": 0, "message": message, "logprobs": None, **ended}
        head = {"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": self.model}
        return {**head, "choices": [choice], "usage": self.usage(body)}

    def events(self, path: str, body: dict[str, Any]) -> list[bytes]:
        said: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        said += [{"reasoning": self.thought}] if self.thought else []
        said += [{"content": word} for word in self.words]
        for index, (_, pieces) in enumerate(self.calls):
            call = {**self._call(index), "index": index}
            call["function"] = {**call["function"], "arguments": ""}
            said.append({"tool_calls": [call]})
            said += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in pieces
            ]
        ended = {"finish_reason": self.finish_reason, "stop_reason": self.stop_reason}
        choices: list[dict[str, Any]] = [{"delta": delta, "finish_reason": None} for delta in said]
        choices.append({"delta": {"content": ""}, **ended})
        events = [self._event({"choices": [{"index": 0, **choice}]}) for choice in choices]
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append(self._event({"choices": [], "usage": self.usage(body)}))
        return [*events, b"data: [DONE]\n\n"]

    def _event(self, chunk: dict[str, Any]) -> bytes:
        return super()._event({"id": "chatcmpl-7", **chunk})
