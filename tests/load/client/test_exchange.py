"""What an answer's text is, and whether it is all that was generated."""

import asyncio
import json
from typing import Any

import pytest

from turnout_load.client.exchange import Exchange
from turnout_load.record import Record


@pytest.mark.parametrize(
    ("said", "text", "is_all"),
    [
        ([{"content": "a"}, {"content": " b"}], "a b", True),
        ([{"reasoning_content": "hm"}, {"content": "a"}], "a", False),
        ([{"content": "a"}, {"tool_calls": [{"index": 0}]}], "a", False),
    ],
)
async def test_a_kept_text_tells_whether_more_was_generated(
    said: list[dict[str, Any]], text: str, is_all: bool
) -> None:
    ended = asyncio.get_running_loop().create_future()
    exchange = Exchange(Record(0), 0, lambda _: None, True, ended)
    exchange.on_headers(200, {b"content-type": b"text/event-stream"}, 1)
    for delta in said:
        chunk = json.dumps({"choices": [{"delta": delta}]})
        exchange.on_body(f"data: {chunk}\n\n".encode(), 2)
    exchange.on_body(b"data: [DONE]\n\n", 3)
    exchange.on_end(4)
    assert exchange.record.ok
    assert ("".join(exchange.text or ()), exchange.is_all_text) == (text, is_all)
