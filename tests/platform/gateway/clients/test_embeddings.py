"""The clients that teams embed with get vectors, whatever format they ask for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import httpx
import openai
import pytest
from langchain_openai import OpenAIEmbeddings
from pydantic import SecretStr
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.system import MODELS

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would download one when imported

if TYPE_CHECKING:
    from tests.platform.gateway.system import System

VECTOR = [0.5, -1.0, 2.0]
MINI = {"application": "mini", "pools": ["reserved"], "capabilities": ["embeddings"]}


@pytest.fixture
async def mini(system: System) -> FakeEngine:
    system.configure(models={**MODELS, "mini": MINI})
    engine: FakeEngine = await system.add(FakeEngine("mini"), window=256)
    return engine


async def test_openais(system: System, mini: FakeEngine) -> None:
    async with openai.AsyncOpenAI(
        api_key="sk-x", base_url=f"{system.url}/v1", max_retries=0
    ) as client:
        answer = await client.embeddings.create(model="mini", input=["a", "b"])
        assert [each.embedding for each in answer.data] == [VECTOR, VECTOR]
        assert answer.usage.prompt_tokens == 22
        one = await client.embeddings.create(model="mini", input="a", encoding_format="float")
        assert one.data[0].embedding == VECTOR
    formats = [each["encoding_format"] for each in mini.asked("/v1/embeddings")]
    assert formats == ["base64", "float"]


async def test_langchains_says_what_to_set_and_works_then(system: System, mini: FakeEngine) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        embeddings = OpenAIEmbeddings(
            model="mini",
            openai_api_key=SecretStr("sk-x"),
            openai_api_base=f"{system.url}/v1",
            check_embedding_ctx_length=False,
            http_async_client=http,
            max_retries=0,
        )
        assert await embeddings.aembed_documents(["a", "b"]) == [VECTOR, VECTOR]
        assert await embeddings.aembed_query("a") == VECTOR
    with_ids = await system.post({"model": "mini", "input": [[9906, 1917]]}, "/v1/embeddings")
    assert "check_embedding_ctx_length=False" in with_ids.json()["error"]["message"]
    assert len(mini.received) == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_litellms(system: System, mini: FakeEngine) -> None:
    import litellm  # noqa: PLC0415 - after the variable above

    answer = await litellm.aembedding(
        model="openai/mini",
        input=["a", "b"],
        api_base=f"{system.url}/v1",
        api_key="sk-x",
        encoding_format="float",
        num_retries=0,
    )
    assert [each["embedding"] for each in answer.data] == [VECTOR, VECTOR]
    assert answer.usage.prompt_tokens == 22
