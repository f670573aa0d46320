"""The OpenAPI page describes what the gateway takes and answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from tests.platform.gateway.system import CHAT, COMPLETIONS

from turnout.gateway.endpoints import DIALECTS, QUESTIONS
from turnout.gateway.openapi import openapi

if TYPE_CHECKING:
    from tests.platform.gateway.system import System

USER = [{"role": "user", "content": "hi"}]


def is_valid(name: str, body: Any) -> bool:
    schema = {"$ref": f"#/components/schemas/{name}", "components": openapi()["components"]}
    return bool(Draft202012Validator(schema).is_valid(body))


def refs(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(refs, node))
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
    return own.union(*map(refs, node.values()))


def test_every_reference_leads_somewhere() -> None:
    schemas = openapi()["components"]["schemas"]
    assert {ref.removeprefix("#/components/schemas/") for ref in refs(openapi())} <= set(schemas)
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


def test_what_is_generated_may_be_urgent_and_what_is_asked_of_a_tokenizer_is_not() -> None:
    paths = openapi()["paths"]
    urgent = {path for path in DIALECTS if "parameters" in paths[path]["post"]}
    assert urgent == set(DIALECTS)
    assert not any("parameters" in paths[path]["post"] for path in QUESTIONS)
    headers = [each["name"] for each in paths[CHAT]["post"]["parameters"]]
    assert headers == ["x-turnout-priority", "x-turnout-deadline-ms"]


@pytest.mark.parametrize(
    ("name", "body", "valid"),
    [
        ("ChatCompletion", {"model": "m", "messages": USER}, True),
        ("ChatCompletion", {"model": "m", "messages": USER, "logit_bias": {"1": -1.5}}, True),
        ("ChatCompletion", {"model": "m", "messages": []}, False),
        ("ChatCompletion", {"messages": USER}, False),
        ("ChatCompletion", {"model": "m", "messages": USER, "logit_bias": {"1": "x"}}, False),
        ("Completion", {"model": "m", "prompt": [[1, 2], [3]]}, True),
        ("Completion", {"model": "m", "prompt": 3}, False),
        ("Error", {"error": {"message": "m", "type": "t", "param": None, "code": None}}, True),
        ("Error", {"error": "m"}, False),
        ("CreateMessage", {"model": "m", "max_tokens": 5, "messages": USER}, True),
        ("CreateMessage", {"model": "m", "messages": USER}, False),
        ("CountTokens", {"model": "m", "messages": USER}, True),
        ("AnthropicError", {"type": "error", "error": {"type": "t", "message": "m"}}, True),
        ("AnthropicError", {"error": {"type": "t", "message": "m"}}, False),
        ("CreateResponse", {"model": "m", "input": "hi", "store": False}, True),
        ("CreateResponse", {"model": "m", "input": USER}, True),
        ("CreateResponse", {"model": "m"}, False),
        ("Tokenize", {"model": "m", "prompt": "hi"}, True),
        ("Detokenize", {"model": "m", "tokens": [-1]}, False),
    ],
)
def test_bodies_are_judged_as_the_gateway_judges_them(name: str, body: Any, valid: bool) -> None:
    assert is_valid(name, body) is valid


async def test_every_path_of_the_page_answers(system: System) -> None:
    page = (await system.client.get("/openapi.json")).json()
    assert page == json.loads(json.dumps(openapi()))
    assert page["openapi"].startswith("3.1")
    assert set(page["paths"]) >= {CHAT, COMPLETIONS, "/v1/models", "/metrics", "/v1/usage"}
    assert set(page["paths"]) >= {*DIALECTS, *QUESTIONS}
    for path, operations in page["paths"].items():
        for method, operation in operations.items():
            answer = await system.client.request(method, path.replace("{id}", "auto"))
            is_kept = not path.startswith(("/v1/usage", "/v1/files", "/v1/batches"))
            expected = 404 if not is_kept else 400 if method == "post" else 200
            assert answer.status_code == expected, path
            shape = operation["responses"].get(str(expected), {}).get("content", {})
            if expected != 200:
                (schema,) = (each["schema"]["$ref"] for each in shape.values())
                assert is_valid(schema.rpartition("/")[2], answer.json()), path
