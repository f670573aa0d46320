"""The gateway's OpenAPI page, generated from the request models. Pure."""

from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel

from turnout.batches.openapi import SCHEMAS as BATCH_SCHEMAS
from turnout.batches.openapi import paths as batch_paths
from turnout.gateway.api import BODIES, PATHS
from turnout.gateway.dialects.messages import COUNT_PATH
from turnout.gateway.dialects.messages import PATH as MESSAGES
from turnout.gateway.dialects.messages_api import CountTokens, CreateMessage
from turnout.gateway.dialects.responses import PATH as RESPONSES
from turnout.gateway.dialects.responses_api import CreateResponse
from turnout.gateway.endpoints import DIALECTS
from turnout.gateway.overload.urgency import (
    DEADLINE_HEADER,
    LONGEST_DEADLINE_MS,
    PRIORITY_HEADER,
    Priority,
)
from turnout.gateway.tokenizer_pages import BODIES as TOKENIZER_BODIES

_POSTS: dict[str, type[BaseModel]] = {
    **{PATHS[endpoint]: body for endpoint, body in BODIES.items()},
    RESPONSES: CreateResponse,
    MESSAGES: CreateMessage,
    COUNT_PATH: CountTokens,
    **TOKENIZER_BODIES,
}
_ANTHROPICS = (MESSAGES, COUNT_PATH)
_URGENCY = [
    {
        "name": PRIORITY_HEADER.decode(),
        "in": "header",
        "description": "Who goes first where requests have to wait; `normal` by default.",
        "schema": {"enum": [priority.name.lower() for priority in Priority]},
    },
    {
        "name": DEADLINE_HEADER.decode(),
        "in": "header",
        "description": "Milliseconds to the first token; what cannot make it is refused at once.",
        "schema": {"type": "integer", "minimum": 1, "maximum": LONGEST_DEADLINE_MS},
    },
]
_ANTHROPIC_ERROR = {
    "type": "object",
    "required": ["type", "error"],
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
        },
    },
}

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_PAGES = {
    "/v1/models": "The models on offer, `auto` included.",
    "/v1/models/{id}": "One model.",
    "/v1/usage": "What the caller's team used and what it cost.",
    "/healthz": "Whether the gateway runs.",
    "/readyz": "Whether every model has a ready replica (503 with Retry-After until then).",
    "/metrics": "Prometheus metrics of all gateway replicas.",
    "/openapi.json": "This page.",
}


@cache
def openapi() -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Turnout gateway", "version": version("turnout")},
        "paths": {
            **{p: _post(p) for p in _POSTS},
            **{p: _get(p) for p in _PAGES},
            **batch_paths(_answers),
        },
        "components": {
            "schemas": {"Error": _ERROR, "AnthropicError": _ANTHROPIC_ERROR, **_schemas()}
        },
    }


def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for body in (*_POSTS.values(), *BATCH_SCHEMAS):
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[body.__name__] = schema
    return schemas


def _content(schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"content": {kind: {"schema": schema}}}


def _answers(ok: dict[str, Any], *errors: int, shape: str = "Error") -> dict[str, Any]:
    whose = "OpenAI" if shape == "Error" else "Anthropic"
    error = {
        "description": f"An error in {whose}'s shape.",
        **_content({"$ref": f"#/components/schemas/{shape}"}),
    }
    return {"200": ok, **{str(status): error for status in errors}}


def _post(path: str) -> dict[str, Any]:
    body = _POSTS[path]
    whose = "Anthropic" if path in _ANTHROPICS else "OpenAI"
    ok: dict[str, Any] = {"description": f"{whose}'s answer", "content": {"application/json": {}}}
    generates = "stream" in body.model_fields
    if generates:
        ok["description"] += "; server-sent events with `stream`"
        ok["content"]["text/event-stream"] = {}
    errors = (400, 401, 403, 404, 408, 413, 429, 503)
    shape = "AnthropicError" if path in _ANTHROPICS else "Error"
    return {
        "post": {
            "summary": (body.__doc__ or "").strip().partition("\n")[0],
            **({"parameters": _URGENCY} if path in DIALECTS else {}),
            "requestBody": {
                "required": True,
                **_content({"$ref": f"#/components/schemas/{body.__name__}"}),
            },
            "responses": _answers(ok, *errors, shape=shape),
        }
    }


def _get(path: str) -> dict[str, Any]:
    page: dict[str, Any] = {"summary": _PAGES[path]}
    if "{id}" in path:
        page["parameters"] = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ]
    statuses = {"/v1/models/{id}": (404,), "/readyz": (503,), "/v1/usage": (400, 404, 503)}
    errors = statuses.get(path, ())
    page["responses"] = _answers({"description": "OK"}, *errors)
    return {"get": page}
