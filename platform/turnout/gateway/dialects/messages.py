"""Anthropic's Messages API, as chat: `POST /v1/messages`. Pure."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from turnout.gateway.body import checked
from turnout.gateway.dialects.answer import event
from turnout.gateway.dialects.messages_answer import MessageEvents, as_message, error_body
from turnout.gateway.dialects.messages_api import CountTokens, CreateMessage
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
from turnout.gateway.errors import InvalidField, RequestError
from turnout.gateway.request import GenerationRequest

PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


class Messages:
    """Translates requests, answers, streams and errors; keeps nothing between them."""

    name = "messages"

    def for_exchange(self) -> "Messages":
        """Returns itself."""
        return self

    def request(self, raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
        """Reads the body as a chat."""
        fields = checked(raw, CreateMessage, engine_fields)
        more = {name: fields[name] for name in engine_fields if name in fields}
        return chat({**_prompt(fields), **_sampling(fields), **more})

    def whole(self, data: bytes) -> bytes:
        """Returns the answer as a message."""
        return as_message(data)

    def events(self) -> MessageEvents:
        """Returns the translator of one stream."""
        return MessageEvents()

    def error(self, error: RequestError) -> bytes:
        """Returns `{"type": "error", "error": {type, message}}`."""
        return json.dumps({"type": "error", **error_body(error)}).encode()

    def error_event(self, error: RequestError) -> bytes:
        """Returns the error as an event."""
        return event("error", error_body(error))


def counted(raw: bytes, engine_fields: Collection[str]) -> GenerationRequest:
    """Reads the body of a count as a chat whose prompt is to be counted."""
    fields = checked(raw, CountTokens, {*CreateMessage.model_fields, *engine_fields})
    return chat(_prompt(fields))


def _prompt(fields: Fields) -> dict[str, Any]:
    messages = [{"role": "system", "content": text} for text in _system(fields.get("system"))]
    for index, message in enumerate(fields["messages"]):
        messages += _turn(message, f"messages[{index}]")
    tools = [_tool(tool, at) for tool, at in parts(fields.get("tools") or [], "tools")]
    chosen = fields.get("tool_choice") or {}
    return {
        "model": fields["model"],
        "messages": messages,
        **present(tools=tools or None, tool_choice=_tool_choice(chosen) if chosen else None),
        **({"parallel_tool_calls": False} if chosen.get("disable_parallel_tool_use") else {}),
    }


def _sampling(fields: Fields) -> dict[str, Any]:
    return present(
        max_tokens=fields["max_tokens"],
        stop=fields.get("stop_sequences") or None,
        stream=fields.get("stream"),
        temperature=fields.get("temperature"),
        top_p=fields.get("top_p"),
        top_k=fields.get("top_k"),
        user=_user(fields.get("metadata") or {}),
        **_output(fields.get("output_config") or {}),
    )


def _user(metadata: Fields) -> str | None:
    return None if metadata.get("user_id") is None else string(metadata, "user_id", "metadata")


def _output(config: Fields) -> dict[str, Any]:
    effort, shape = config.get("effort"), config.get("format")
    if effort is not None and effort not in _EFFORTS:
        raise InvalidField("output_config.effort", f"must be one of {', '.join(_EFFORTS)}")
    asked: dict[str, Any] = present(reasoning_effort=_EFFORTS.get(effort or ""))
    if shape is not None:
        shape = mapping(config, "format", "output_config")
        if shape.get("type") != "json_schema":
            raise InvalidField("output_config.format.type", "must be 'json_schema'")
        schema = mapping(shape, "schema", "output_config.format")
        named = {"name": "output", "schema": schema, "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": named}
    return asked


def _system(system: Any) -> Iterator[str]:
    if isinstance(system, str) and system:
        yield system
    elif system:
        yield "\n".join(_text(block, at) for block, at in parts(system, "system"))


def _text(block: Fields, at: str) -> str:
    if block.get("type") != "text":
        raise InvalidField(f"{at}.type", "must be 'text'")
    return string(block, "text", at)


def _turn(message: Fields, at: str) -> Iterator[dict[str, Any]]:
    role, content = message["role"], message["content"]
    if role not in ("user", "assistant", "system"):
        raise InvalidField(f"{at}.role", "must be 'user' or 'assistant'")
    if isinstance(content, str):
        yield {"role": role, "content": content}
    elif role == "assistant":
        yield _assistant(content, f"{at}.content")
    else:
        yield from _user_turn(role, content, f"{at}.content")


def _assistant(content: list[Any], at: str) -> dict[str, Any]:
    said, calls = [], []
    for block, where in parts(content, at):
        kind = block.get("type")
        if kind == "tool_use":
            calls.append(_call(block, where))
        elif kind == "text":
            said.append(text_part(string(block, "text", where)))
        elif kind not in ("thinking", "redacted_thinking"):  # thoughts are not said again
            raise InvalidField(f"{where}.type", "must be text, tool_use or thinking")
    turn: dict[str, Any] = {"role": "assistant", "content": plain(said) if said else None}
    return turn | ({"tool_calls": calls} if calls else {})


def _call(block: Fields, at: str) -> dict[str, Any]:
    arguments = json.dumps(mapping(block, "input", at), ensure_ascii=False)
    function = {"name": string(block, "name", at), "arguments": arguments}
    return {"id": string(block, "id", at), "type": "function", "function": function}


def _user_turn(role: str, content: list[Any], at: str) -> Iterator[dict[str, Any]]:
    """Yields a message per tool's result, then one of what the user says beside them."""
    said = []
    for block, where in parts(content, at):
        if block.get("type") == "tool_result":
            yield _result(block, where)
        else:
            said.append(_part(block, where))
    if said:
        yield {"role": role, "content": plain(said)}


def _result(block: Fields, at: str) -> dict[str, Any]:
    content = block.get("content") or ""
    if not isinstance(content, str):
        content = plain([_part(part, where) for part, where in parts(content, f"{at}.content")])
    return {
        "role": "tool",
        "tool_call_id": string(block, "tool_use_id", at),
        "content": content,
    }


def _part(block: Fields, at: str) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text":
        return text_part(string(block, "text", at))
    if kind == "image":
        source, where = mapping(block, "source", at), f"{at}.source"
        if source.get("type") == "url":
            url = string(source, "url", where)
        else:
            data = string(source, "data", where)
            url = f"data:{string(source, 'media_type', where)};base64,{data}"
        return {"type": "image_url", "image_url": {"url": url}}
    raise InvalidField(f"{at}.type", "must be text, image or, in a user's turn, tool_result")


def _tool(tool: Fields, at: str) -> dict[str, Any]:
    if tool.get("type") not in (None, "custom"):
        raise InvalidField(f"{at}.type", "must be 'custom': this gateway runs no tools itself")
    function = present(
        name=string(tool, "name", at),
        description=tool.get("description"),
        parameters=mapping(tool, "input_schema", at),
        strict=tool.get("strict"),
    )
    return {"type": "function", "function": function}


def _tool_choice(choice: Fields) -> str | dict[str, Any]:
    kind = choice.get("type")
    if kind == "tool":
        name = string(choice, "name", "tool_choice")
        return {"type": "function", "function": {"name": name}}
    if kind not in _CHOICES:
        raise InvalidField("tool_choice.type", "must be auto, any, tool or none")
    return _CHOICES[kind]
