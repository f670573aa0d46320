"""The HTTP API of one embedding replica, in the shapes that vLLM's has."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from turnout.embeddings.batcher import Batcher
from turnout.embeddings.embedder import Embedder, Vectors, shortened
from turnout.gateway.api import Embedding
from turnout.gateway.body import checked
from turnout.gateway.errors import (
    ContextLengthExceeded,
    InvalidField,
    RequestError,
    UnknownModel,
)
from turnout.gateway.tokenizer_api import Detokenize, Tokenize

CLIENT_LEFT = 499
Answer = Callable[[bytes], Awaitable[Mapping[str, Any]]]


def embedding_api(model: str, embedder: Embedder, batcher: Batcher) -> Starlette:
    """Returns the ASGI app of a replica whose model has this public name."""
    api = _Api(model, embedder, batcher)
    posts = {
        "/v1/embeddings": api.embeddings,
        "/tokenize": api.tokenize,
        "/detokenize": api.detokenize,
    }
    return Starlette(
        routes=[
            *(Route(path, _answering(answer), methods=["POST"]) for path, answer in posts.items()),
            Route("/v1/models", api.models),
            Route("/health", _health),
        ],
        exception_handlers={RequestError: _refusal},
    )


class _Api:
    def __init__(self, model: str, embedder: Embedder, batcher: Batcher) -> None:
        self._model, self._embedder, self._batcher = model, embedder, batcher

    async def embeddings(self, raw: bytes) -> Mapping[str, Any]:
        """Answers `POST /v1/embeddings`; raises a `RequestError`."""
        fields = checked(raw, Embedding)
        self._check_model(fields)
        dimensions = self._dimensions(fields.get("dimensions"))
        texts = [fields["input"]] if isinstance(fields["input"], str) else fields["input"]
        tokens = await self._tokens(texts)
        vectors = await self._batcher.vectors(tokens)
        if dimensions < self._embedder.lengths.full:
            vectors = shortened(vectors, dimensions)
        written = _base64 if fields.get("encoding_format") == "base64" else _floats
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(written(vectors))
        ]
        count = sum(map(len, tokens))
        usage = {"prompt_tokens": count, "total_tokens": count}
        return {"object": "list", "data": data, "model": self._model, "usage": usage}

    async def tokenize(self, raw: bytes) -> Mapping[str, Any]:
        """Answers `POST /tokenize`; raises a `RequestError`."""
        fields = checked(raw, Tokenize)
        self._check_model(fields)
        if fields.get("prompt") is None:
            raise InvalidField("messages", "this model has no chat template: send 'prompt'")
        special = fields.get("add_special_tokens") is not False
        (told,) = await asyncio.to_thread(
            self._embedder.tokens, [fields["prompt"]], add_special_tokens=special
        )
        return {
            "count": len(told.ids),
            "max_model_len": self._embedder.context_window,
            "tokens": told.ids,
            "token_strs": told.tokens if fields.get("return_token_strs") else None,
        }

    async def detokenize(self, raw: bytes) -> Mapping[str, Any]:
        """Answers `POST /detokenize`; raises a `RequestError`."""
        fields = checked(raw, Detokenize)
        self._check_model(fields)
        return {"prompt": self._embedder.text(fields["tokens"])}

    async def models(self, _request: Request) -> Response:
        """Answers `GET /v1/models`."""
        window = self._embedder.context_window
        entry = {"id": self._model, "object": "model", "max_model_len": window}
        return JSONResponse({"object": "list", "data": [entry]})

    def _check_model(self, fields: Mapping[str, Any]) -> None:
        if fields["model"] != self._model:
            raise UnknownModel(fields["model"][:128], [self._model])

    def _dimensions(self, asked: int | None) -> int:
        lengths = self._embedder.lengths
        if asked is not None and not lengths.has(asked):
            raise InvalidField("dimensions", f"'{self._model}' gives vectors of {lengths} numbers")
        return asked or lengths.full

    async def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns each text's token ids; raises `ContextLengthExceeded`."""
        told = await asyncio.to_thread(self._embedder.tokens, texts)
        tokens, most = [each.ids for each in told], self._embedder.context_window
        for index, ids in enumerate(tokens):
            if len(ids) > most:
                raise ContextLengthExceeded(
                    f"this model's maximum context length is {most} tokens, but text {index} of "
                    f"the input (counted from 0) has {len(ids)}: cut it into shorter ones",
                    "input",
                )
        return tokens


def _floats(vectors: Vectors) -> list[Any]:
    return list(vectors.tolist())


def _base64(vectors: Vectors) -> list[str]:
    return [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]


def _answering(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        work = asyncio.ensure_future(answer(await request.body()))
        watch = asyncio.create_task(_until_left(request))
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return Response(status_code=CLIENT_LEFT)
            return Response(msgspec.json.encode(work.result()), media_type="application/json")
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    return respond


async def _until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)  # as registered
    return JSONResponse(error.body(), error.status, dict(error.headers))


async def _health(_request: Request) -> Response:
    return Response()
