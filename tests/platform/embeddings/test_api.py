"""One replica's API answers as vLLM's does, and says what it cannot do."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from turnout.embeddings.api import embedding_api
from turnout.embeddings.batcher import Batcher
from turnout.embeddings.embedder import Lengths

if TYPE_CHECKING:
    from tests.platform.embeddings.counting_model import CountingModel

PATH = "/v1/embeddings"


@pytest.fixture
async def client(model: CountingModel) -> AsyncIterator[httpx.AsyncClient]:
    batcher = Batcher(model, batch_size=4)
    app = embedding_api("colors", model, batcher)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://replica") as built:
        yield built
    batcher.close()


async def embed(client: httpx.AsyncClient, **fields: Any) -> httpx.Response:
    return await client.post(PATH, json={"model": "colors", "input": "red green", **fields})


async def test_a_text_gets_its_vector_and_is_counted_with_its_special_tokens(
    client: httpx.AsyncClient,
) -> None:
    assert (await embed(client)).json() == {
        "object": "list",
        "model": "colors",
        "data": [{"object": "embedding", "index": 0, "embedding": [3.0, 4.0, 4.0, 8.0]}],
        "usage": {"prompt_tokens": 4, "total_tokens": 4},
    }


async def test_texts_get_their_vectors_in_order(client: httpx.AsyncClient) -> None:
    told = (await embed(client, input=["red", "red red red", ""])).json()
    assert [each["embedding"][2:] for each in told["data"]] == [[3, 4], [5, 10], [2, 1]]
    assert [each["index"] for each in told["data"]] == [0, 1, 2]
    assert told["usage"]["prompt_tokens"] == 3 + 5 + 2


async def test_base64_holds_little_endian_floats(client: httpx.AsyncClient) -> None:
    (told,) = (await embed(client, encoding_format="base64")).json()["data"]
    assert struct.unpack("<4f", base64.b64decode(told["embedding"])) == (3, 4, 4, 8)


async def test_a_model_trained_for_it_gives_shorter_vectors_of_length_one(
    model: CountingModel, client: httpx.AsyncClient
) -> None:
    model.lengths = Lengths(4, trained_for=(2,))
    (told,) = (await embed(client, dimensions=2)).json()["data"]
    assert told["embedding"] == pytest.approx([0.6, 0.8])
    assert len((await embed(client, dimensions=4)).json()["data"][0]["embedding"]) == 4


@pytest.mark.parametrize(
    ("fields", "status", "param", "words"),
    [
        ({"dimensions": 3}, 400, "dimensions", "vectors of 4 numbers"),
        ({"dimensions": 0}, 400, "dimensions", "greater than 0"),
        ({"input": ["red", "red " * 7]}, 400, "input", "maximum context length is 8 tokens"),
        ({"input": [1, 2]}, 400, "input", "send text"),
        ({"input": []}, 400, "input", "one to 2048 texts"),
        ({"input": "red", "truncate": True}, 400, "truncate", "unrecognized"),
        ({"encoding_format": "int8"}, 400, "encoding_format", "'float' or 'base64'"),
        ({"model": "tastes"}, 404, "model", "does not exist"),
    ],
)
async def test_what_it_cannot_do_it_refuses(
    model: CountingModel,
    client: httpx.AsyncClient,
    fields: dict[str, Any],
    status: int,
    param: str,
    words: str,
) -> None:
    refused = await embed(client, **fields)
    error = refused.json()["error"]
    assert (refused.status_code, error["param"]) == (status, param)
    assert words in error["message"]
    assert model.batches == []


async def test_a_failing_model_is_a_500_for_another_replica_to_mend(
    model: CountingModel, client: httpx.AsyncClient
) -> None:
    model.fails_on = [0, 3, 1]
    assert (await embed(client, input="red")).status_code == 500
    assert (await embed(client, input="blue")).status_code == 200


async def test_its_tokenizer_answers(client: httpx.AsyncClient) -> None:
    ask = {"model": "colors", "prompt": "blue sky"}
    told = (await client.post("/tokenize", json=ask)).json()
    assert told == {"count": 4, "max_model_len": 8, "tokens": [0, 5, 2, 1], "token_strs": None}
    bare = {**ask, "add_special_tokens": False, "return_token_strs": True}
    told = (await client.post("/tokenize", json=bare)).json()
    assert (told["tokens"], told["token_strs"]) == ([5, 2], ["blue", "?"])
    back = await client.post("/detokenize", json={"model": "colors", "tokens": [3, 4]})
    assert back.json() == {"prompt": "red green"}
    chat = {"model": "colors", "messages": [{"role": "user", "content": "hi"}]}
    refused = await client.post("/tokenize", json=chat)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "messages")


async def test_it_says_which_model_it_is_and_that_it_lives(client: httpx.AsyncClient) -> None:
    (model,) = (await client.get("/v1/models")).json()["data"]
    assert (model["id"], model["max_model_len"]) == ("colors", 8)
    assert (await client.get("/health")).status_code == 200


async def test_a_client_that_leaves_is_not_worked_for(model: CountingModel) -> None:
    batcher = Batcher(model, batch_size=4)
    app = embedding_api("colors", model, batcher)
    body = json.dumps({"model": "colors", "input": ["red"] * 40}).encode()
    model.gate.clear()
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        while not model.batches:
            await asyncio.sleep(0.001)
        return {"type": "http.disconnect"}

    async def send(_message: Any) -> None:
        pass

    scope = {"type": "http", "method": "POST", "path": PATH, "headers": [], "query_string": b""}
    await app(scope, receive, send)
    model.gate.set()
    await batcher.vectors([[5]])
    assert model.batches == [[[0, 3, 1]] * 4, [[5]]]
    batcher.close()
