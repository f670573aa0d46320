"""What the OpenAPI page says of files and batches. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from turnout.batches.api import BatchObject, CreateBatch, FileObject

SCHEMAS: tuple[type[BaseModel], ...] = (CreateBatch, FileObject, BatchObject)
Answers = Callable[..., dict[str, Any]]
"""Makes an operation's answers: the good one, then the errors' statuses."""
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_SEEN = (401, 403, 404, 503)
_UPLOAD = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file", "purpose"],
            "properties": {
                "purpose": {"const": "batch"},
                "file": {"type": "string", "contentMediaType": "application/octet-stream"},
                "expires_after[anchor]": {"const": "created_at"},
                "expires_after[seconds]": {"type": "integer", "minimum": 3600},
            },
        }
    }
}


def paths(answers: Answers) -> dict[str, Any]:
    """Returns the paths of `/v1/files` and `/v1/batches`."""
    file, batch = answers(_one(FileObject), *_SEEN), answers(_one(BatchObject), *_SEEN)
    content = {"description": "The contents.", "content": {"application/octet-stream": {}}}
    deleted = {"description": "Deleted.", "content": {"application/json": {}}}
    gets = {"parameters": [_ID]}
    return {
        "/v1/files": {
            "get": {
                **_listed("The team's files.", "order", "purpose"),
                "responses": answers(_many(FileObject), 400, *_SEEN),
            },
            "post": {
                "summary": "Upload a file of JSON lines.",
                "requestBody": {"required": True, "content": _UPLOAD},
                "responses": answers(_one(FileObject), 400, 413, *_SEEN),
            },
        },
        "/v1/files/{id}": {
            "get": {"summary": "One file.", **gets, "responses": file},
            "delete": {
                "summary": "Delete a file that no batch reads.",
                **gets,
                "responses": answers(deleted, 409, *_SEEN),
            },
        },
        "/v1/files/{id}/content": {
            "get": {"summary": "What is in it.", **gets, "responses": answers(content, *_SEEN)}
        },
        "/v1/batches": {
            "get": {
                **_listed("The team's batches, newest first."),
                "responses": answers(_many(BatchObject), 400, *_SEEN),
            },
            "post": {
                "summary": (CreateBatch.__doc__ or "").partition("\n")[0],
                "requestBody": {"required": True, **_content(_ref(CreateBatch))},
                "responses": answers(_one(BatchObject), 400, 408, 413, 429, *_SEEN),
            },
        },
        "/v1/batches/{id}": {"get": {"summary": "One batch.", **gets, "responses": batch}},
        "/v1/batches/{id}/cancel": {
            "post": {
                "summary": "Stop a batch; what is done is kept.",
                **gets,
                "responses": answers(_one(BatchObject), 409, *_SEEN),
            }
        },
    }


def _ref(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _content(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _one(model: type[BaseModel]) -> dict[str, Any]:
    return {"description": model.__doc__, **_content(_ref(model))}


def _many(model: type[BaseModel]) -> dict[str, Any]:
    properties = {
        "object": {"const": "list"},
        "data": {"type": "array", "items": _ref(model)},
        "has_more": {"type": "boolean"},
    }
    schema = {"type": "object", "required": list(properties), "properties": properties}
    return {"description": "A page of them.", **_content(schema)}


def _listed(summary: str, *more: str) -> dict[str, Any]:
    names = ("limit", "after", *more)
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    return {"summary": summary, "parameters": parameters}
