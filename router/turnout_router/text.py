"""What a request body says: the text it is judged by and the capabilities it needs. Pure.

Bodies come from the network: anything that is not of the expected type is passed over here and
left to the engine's own validation.
"""

from collections.abc import Iterator, Mapping
from typing import Any

MAX_BYTES = 1024  # bounds a decision's time (some scripts take a token per byte); 2048 scored alike

Body = Mapping[str, Any]


def prompt_text(body: Body) -> str:
    """Returns the text a request is judged by: its last user message or its completion prompt.

    See `bounded` for long texts.
    """
    if "messages" in body:
        return bounded(_last_user_text(body["messages"]))
    return bounded(_joined(body.get("prompt")))


def needed_capabilities(body: Body) -> frozenset[str]:
    """Returns which of tools, json_schema, logprobs and vision the request asks for."""
    asks = {
        "tools": bool(body.get("tools")) and body.get("tool_choice") != "none",
        "json_schema": _response_type(body) in ("json_schema", "json_object"),
        # chat says true or false, completions count from 0: 0 is a request, and equals False
        "logprobs": body.get("logprobs") is not None and body["logprobs"] is not False,
        "vision": any("image" in str(part.get("type")) for part in _all_parts(body)),
    }
    return frozenset(capability for capability, asked in asks.items() if asked)


def bounded(text: str) -> str:
    """Returns the text as valid UTF-8 of at most MAX_BYTES.

    Of a longer text, its two ends: the question stands at either one. Half a character at a cut
    is dropped, a lone surrogate becomes a question mark.
    """
    if text.isascii() and len(text) <= MAX_BYTES:
        return text
    half = MAX_BYTES // 2
    if len(text) > MAX_BYTES:
        text = text[:half] + text[-half:]
    data = text.encode("utf-8", "replace")
    parts = [data] if len(data) <= MAX_BYTES else [data[:half], data[-half:]]
    return "".join(part.decode("utf-8", "ignore") for part in parts)


def _last_user_text(messages: object) -> str:
    for message in reversed(list(_mappings(messages))):
        if message.get("role") == "user":
            return _joined(message.get("content"))
    return ""


def _joined(content: object) -> str:
    """Returns a string, or the texts of a list of strings and content parts, one a line."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(text for text in texts if isinstance(text, str))


def _response_type(body: Body) -> object:
    response_format = body.get("response_format")
    return response_format.get("type") if isinstance(response_format, Mapping) else None


def _all_parts(body: Body) -> Iterator[Body]:
    for message in _mappings(body.get("messages")):
        yield from _mappings(message.get("content"))


def _mappings(items: object) -> Iterator[Body]:
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))
