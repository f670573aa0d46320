"""An echo replica that has token ids, so that a gateway can go on with its answers elsewhere.

    python -m turnout_load.bench.failover_echo 4321

Every answer tells its request's prompt again and again, in words of several scripts, cut into
tokens of three bytes: most characters are spread over two of them. Given a prompt of ids, it goes
on after those of the answer.
"""

from __future__ import annotations

import asyncio
import codecs
import itertools
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import uvloop

from turnout_load.mock.answer import DONE, MS, Beat, Request, event, in_chunk, stream_head
from turnout_load.mock.ask import Ask
from turnout_load.mock.faults import refusal
from turnout_load.mock.script import LAST_CHUNK, Script, Step
from turnout_load.mock.server import ASKED, Connection, Mock
from turnout_load.mock.settings import MockSettings

TOKEN_BYTES = 3
SAYS = 300
"""The id between a prompt's and an answer's; those of a prompt are its bytes."""
FIRST_ID = 1000
WORDS = "grüßt die Züge 世界 и мир 🚂🙂 und sagt: "
TTFT_MS, ITL_MS = 30.0, 100.0


class Asked(msgspec.Struct):
    """What the replica looks at in a body."""

    model: str
    messages: list[dict[str, Any]] | None = None
    prompt: str | list[int] | None = None
    max_tokens: int = 100
    tokens: list[int] | None = None


_asked = msgspec.json.Decoder(Asked).decode


def tokens(prompt: str, count: int) -> list[bytes]:
    """Returns an answer's tokens."""
    letters = f"{prompt} {WORDS}".encode()
    endless = itertools.cycle(letters)
    return [bytes(itertools.islice(endless, TOKEN_BYTES)) for _ in range(count)]


def text(prompt: str, count: int) -> str:
    """Returns an answer's text: without a character that its last token leaves half."""
    return b"".join(tokens(prompt, count)).decode(errors="ignore")


class Echo(Mock):
    """What the connections share."""

    def script(self, method: bytes, path: bytes, body: bytes, now_ns: int) -> Script:
        """Returns the answer to a request that has arrived now."""
        try:
            asked = _asked(body) if body else None
        except msgspec.DecodeError as wrong:
            return refusal(400, str(wrong).replace('"', "'"))
        if asked is None or (path not in ASKED and path != b"/detokenize"):
            return super().script(method, path, body, now_ns)
        if path == b"/detokenize":
            return _detokenized(asked)
        return _stream(asked, is_chat=ASKED[path])


def _detokenized(asked: Asked) -> Script:
    """An answer's ids do not tell its text here: nothing the benchmark does asks for it."""
    return refusal(404, f"{len(asked.tokens or ())} tokens without their prompt")


def _stream(asked: Asked, *, is_chat: bool) -> Script:
    prompt, start = _prompt(asked)
    said = tokens(prompt, start + asked.max_tokens)
    ids = [*prompt.encode(), SAYS]
    role = {"role": "assistant", "content": ""}
    events = [_event(asked, is_chat, role, None, None, ids)] if is_chat else []
    decode = _decoder(b"".join(said[:start]))
    for at in range(start, len(said)):
        finish = "length" if at + 1 == len(said) else None
        piece = {"content": decode(said[at])}
        events.append(_event(asked, is_chat, piece, [FIRST_ID + at], finish, None))
    used = len(ids) + start, len(said) - start
    steps = [Step(0, stream_head(Request(Ask(asked.model), is_chat, "echo")))]
    for number, each in enumerate(events):
        steps.append(in_chunk(Beat(round((TTFT_MS + number * ITL_MS) * MS), each)))
    last = steps[-1]
    end = in_chunk(Beat(last.offset_ns, _usage(asked, is_chat, *used) + DONE))
    steps[-1] = last._replace(data=last.data + end.data + LAST_CHUNK)
    return Script(tuple(steps), is_stream=True)


def _decoder(before: bytes) -> Callable[[bytes], str]:
    """Returns what gives out characters once they are whole, after what was said before."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoder.decode(before)
    return decoder.decode


def _prompt(asked: Asked) -> tuple[str, int]:
    """Returns the prompt's text and how many tokens of the answer are there already."""
    if isinstance(asked.prompt, list):
        end = asked.prompt.index(SAYS)
        return bytes(asked.prompt[:end]).decode(), len(asked.prompt) - end - 1
    if asked.messages:
        return str(asked.messages[-1]["content"]), 0
    return asked.prompt or "", 0


def _event(
    asked: Asked,
    is_chat: bool,
    delta: dict[str, str],
    ids: list[int] | None,
    finish: str | None,
    prompt_ids: list[int] | None,
) -> bytes:
    said: dict[str, Any] = {"delta": delta} if is_chat else {"text": delta["content"]}
    choice = {"index": 0, **said, "finish_reason": finish, "token_ids": ids}
    more = {"prompt_token_ids": prompt_ids} if prompt_ids else {}
    return event({**_head(asked, is_chat), "choices": [choice], **more})


def _usage(asked: Asked, is_chat: bool, prompt: int, completion: int) -> bytes:
    counts = {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
    }
    return event({**_head(asked, is_chat), "choices": [], "usage": counts})


def _head(asked: Asked, is_chat: bool) -> dict[str, Any]:
    kind = "chat.completion.chunk" if is_chat else "text_completion"
    return {"id": "echo", "object": kind, "created": 0, "model": asked.model}


async def serve(port: int) -> None:
    """Serves until it is killed, which is what it is for."""
    loop = asyncio.get_running_loop()
    echo = Echo(MockSettings(), loop)
    server = await loop.create_server(lambda: Connection(echo), "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
