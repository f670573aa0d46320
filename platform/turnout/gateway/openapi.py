"""The gateway's OpenAPI page, generated from the request models. Pure."""

from functools import cache
from importlib.metadata import version
from typing import Any

from turnout.gateway.api import BODIES, PATHS

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
        "paths": {**{p: _post(e) for e, p in PATHS.items()}, **{p: _get(p) for p in _PAGES}},
        "components": {"schemas": {"Error": _ERROR, **_schemas()}},
    }


def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for body in BODIES.values():
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[body.__name__] = schema
    return schemas


def _content(schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"content": {kind: {"schema": schema}}}


def _answers(ok: dict[str, Any], *errors: int) -> dict[str, Any]:
    error = {
        "description": "An error in OpenAI's shape.",
        **_content({"$ref": "#/components/schemas/Error"}),
    }
    return {"200": ok, **{str(status): error for status in errors}}


def _post(endpoint: Any) -> dict[str, Any]:
    body = BODIES[endpoint]
    ok: dict[str, Any] = {"description": "OpenAI's answer; server-sent events with `stream`."}
    ok["content"] = {"application/json": {}, "text/event-stream": {}}
    return {
        "post": {
            "summary": (body.__doc__ or "").strip(),
            "requestBody": {
                "required": True,
                **_content({"$ref": f"#/components/schemas/{body.__name__}"}),
            },
            "responses": _answers(ok, 400, 404, 413, 503),
        }
    }


def _get(path: str) -> dict[str, Any]:
    page: dict[str, Any] = {"summary": _PAGES[path]}
    if "{id}" in path:
        page["parameters"] = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ]
    errors = {"/v1/models/{id}": (404,), "/readyz": (503,)}.get(path, ())
    page["responses"] = _answers({"description": "OK"}, *errors)
    return {"get": page}
