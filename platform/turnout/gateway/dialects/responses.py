"""OpenAI's Responses API, as chat: `POST /v1/responses`. Pure."""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from turnout.gateway.body import checked
from turnout.gateway.dialects.answer import event
from turnout.gateway.dialects.read import (
    Fields,
    chat,
    mapping,
    parts,
    plain,
    present,
    string,
    text_part,
)
from turnout.gateway.dialects.responses_answer import as_response, error_body, error_fields
from turnout.gateway.dialects.responses_api import CreateResponse
from turnout.gateway.dialects.responses_stream import ResponseEvents
from turnout.gateway.errors import InvalidField, RequestError
from turnout.gateway.request import GenerationRequest

PATH = "/v1/responses"
STATELESS = "this gateway stores no responses; send the whole conversation in 'input'"
REFUSED: Mapping[str, str] = {
    "store": "this gateway stores no responses; leave it out or send false",
    "previous_response_id": STATELESS,
    "conversation": STATELESS,
    "background": "this gateway answers while the client waits; leave it out or send false",
    "prompt": "this gateway stores no prompts; send 'instructions' and 'input'",
    "context_management": "this gateway does not shorten conversations",
    "top_logprobs": "not offered here; /v1/chat/completions has it",
}
"""What this subset leaves out, and what to do instead."""


class Responses:
    """Translates requests, answers, streams and errors; one per exchange, whose request it repeats.

    Answers name what was asked for (instructions, tools, …), as OpenAI's do.
    """

    name = "responses"

    def __init__(self) -> None:
        self._asked: Fields = MappingProxyType({})
        self._stream: ResponseEvents | None = None

    def for_exchange(self) -> "Responses":
        """Returns one of its own for an exchange."""
        return Responses()

    def request(self, raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
        """Reads the body as a chat."""
        fields = checked(raw, CreateResponse, REFUSED.keys() | set(engine_fields))
        _refuse(fields)
        self._asked = fields
        more = {name: fields[name] for name in engine_fields if name in fields}
        return chat({**_chat_fields(fields), **more})

    def whole(self, data: bytes) -> bytes:
        """Returns the answer as a response."""
        return as_response(data, self._asked)

    def events(self) -> ResponseEvents:
        """Returns the translator of the stream."""
        self._stream = ResponseEvents(self._asked)
        return self._stream

    def error(self, error: RequestError) -> bytes:
        """Returns `{"error": {message, type, param, code}}`."""
        return json.dumps(error_body(error)).encode()

    def error_event(self, error: RequestError) -> bytes:
        """Returns the error as an event."""
        if self._stream is None:
            return event("error", error_fields(error, 0))
        return self._stream.failed(error)


def _refuse(fields: Fields) -> None:
    for name, reason in REFUSED.items():
        if fields.get(name):
            raise InvalidField(name, reason)
    if fields.get("truncation") not in (None, "disabled"):
        raise InvalidField("truncation", "this gateway does not shorten conversations")
    for index, each in enumerate(fields.get("include") or ()):
        if each != "reasoning.encrypted_content":
            raise InvalidField(f"include[{index}]", "nothing of this kind is made here")


def _chat_fields(fields: Fields) -> dict[str, Any]:
    tools = [_tool(tool, at) for tool, at in parts(fields.get("tools") or [], "tools")]
    reasoning = fields.get("reasoning") or {}
    return present(
        model=fields["model"],
        messages=_messages(fields),
        tools=tools or None,
        tool_choice=_tool_choice(fields.get("tool_choice")),
        parallel_tool_calls=fields.get("parallel_tool_calls") if tools else None,
        max_tokens=fields.get("max_output_tokens"),
        temperature=fields.get("temperature"),
        top_p=fields.get("top_p"),
        response_format=_response_format(fields.get("text") or {}),
        reasoning_effort=string(reasoning, "effort", "reasoning")
        if reasoning.get("effort") is not None
        else None,
        stream=fields.get("stream"),
        user=fields.get("user"),
    )


def _tool(tool: Fields, at: str) -> dict[str, Any]:
    if tool.get("type") != "function":
        raise InvalidField(f"{at}.type", "must be 'function': this gateway has no built-in tools")
    function = present(
        name=string(tool, "name", at),
        description=tool.get("description"),
        parameters=tool.get("parameters"),
        strict=tool.get("strict"),
    )
    return {"type": "function", "function": function}


def _tool_choice(choice: Any) -> str | dict[str, Any] | None:
    if choice in (None, "auto", "none", "required"):
        return choice if choice is None else str(choice)
    if not isinstance(choice, dict) or choice.get("type") != "function":
        raise InvalidField("tool_choice", "must be auto, none, required or a function")
    return {"type": "function", "function": {"name": string(choice, "name", "tool_choice")}}


def _response_format(text: Fields) -> dict[str, Any] | None:
    if text.get("format") is None:
        return None
    shape, at = mapping(text, "format", "text"), "text.format"
    kind = shape.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "json_object"}
    if kind != "json_schema":
        raise InvalidField(f"{at}.type", "must be text, json_object or json_schema")
    named = present(
        name=string(shape, "name", at),
        schema=mapping(shape, "schema", at),
        strict=shape.get("strict"),
        description=shape.get("description"),
    )
    return {"type": "json_schema", "json_schema": named}


def _messages(fields: Fields) -> list[dict[str, Any]]:
    given = fields["input"]
    messages: list[dict[str, Any]] = []
    if fields.get("instructions"):
        messages.append({"role": "system", "content": fields["instructions"]})
    if isinstance(given, str):
        return [*messages, {"role": "user", "content": given}]
    for item, at in parts(given, "input"):
        _take(item, at, messages)
    if all(message["role"] == "system" for message in messages):
        raise InvalidField("input", "holds nothing to answer")
    return messages


def _take(item: Fields, at: str, messages: list[dict[str, Any]]) -> None:
    """Adds an item to the chat; what the assistant said and called in one turn is one message."""
    kind = item.get("type", "message")
    if kind == "message":
        message = _message(item, at)
        first = messages[0] if len(messages) == 1 else {}
        texts = (first.get("content"), message["content"])
        if first.get("role") == message["role"] == "system" and _are_texts(texts):
            first["content"] = "\n\n".join(map(str, texts))  # templates know one system prompt
        else:
            messages.append(message)
    elif kind == "function_call":
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": None})
        messages[-1].setdefault("tool_calls", []).append(_call(item, at))
    elif kind == "function_call_output":
        call_id = string(item, "call_id", at)
        content = _content(item.get("output"), f"{at}.output")
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
    elif kind == "item_reference":
        raise InvalidField(f"{at}.type", STATELESS)
    elif kind != "reasoning":  # thoughts are not said again
        raise InvalidField(
            f"{at}.type", "must be message, function_call, function_call_output or reasoning"
        )


def _are_texts(contents: Collection[Any]) -> bool:
    return all(isinstance(content, str) for content in contents)


def _message(item: Fields, at: str) -> dict[str, Any]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        raise InvalidField(f"{at}.role", "must be user, assistant, system or developer")
    content = _content(item.get("content"), f"{at}.content")
    return {"role": "system" if role == "developer" else role, "content": content}


def _content(content: Any, at: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return plain([_part(part, where) for part, where in parts(content, at)])


def _part(part: Fields, at: str) -> dict[str, Any]:
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):
        return text_part(string(part, "text", at))
    if kind == "refusal":
        return text_part(string(part, "refusal", at))
    if kind == "input_image":
        image = present(url=string(part, "image_url", at), detail=part.get("detail"))
        return {"type": "image_url", "image_url": image}
    raise InvalidField(f"{at}.type", "must be input_text, output_text or input_image")


def _call(item: Fields, at: str) -> dict[str, Any]:
    function = {"name": string(item, "name", at), "arguments": string(item, "arguments", at)}
    return {"id": string(item, "call_id", at), "type": "function", "function": function}
