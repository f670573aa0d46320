"""`ray.serve.llm` with an engine that asks the mock: everything of Ray's around it is real."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

MOCK = "TURNOUT_BENCH_MOCK"
"""In the environment: the mock's address."""


class EchoEngine:
    """What Ray's `LLMServer` takes for an engine (`LLMEngine` is the whole protocol)."""

    def __init__(self, llm_config: Any) -> None:
        self.llm_config = llm_config
        self._url = f"{os.environ[MOCK]}/v1/chat/completions"
        self._session: Any = None

    async def start(self) -> None:
        """Opens the connections' pool."""
        import aiohttp  # noqa: PLC0415 - only where Ray is

        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def chat(self, request: Any, _raw_request: Any = None) -> AsyncIterator[Any]:
        """Yields an answer, or a stream's events one by one as they come."""
        from ray.llm._internal.serve.core.configs.openai_api_models import (  # noqa: PLC0415
            ChatCompletionResponse,
        )

        body = request.model_dump(mode="json", exclude_unset=True)
        async with self._session.post(self._url, json=body) as answer:
            if not request.stream:
                yield ChatCompletionResponse.model_validate(await answer.json())
                return
            async for line in answer.content:
                if line != b"\n":
                    yield f"{line.decode().strip()}\n\n"

    def routing_stats(self) -> dict[str, Any]:
        """Returns nothing: Ray's own count of requests is what its router goes by."""
        return {}

    async def check_health(self) -> None:
        """Is always well."""

    async def shutdown(self) -> None:
        """Closes the connections."""
        await self._session.close()


def build(args: dict[str, Any]) -> Any:
    """Returns Ray's OpenAI application for a model of the name `args["model"]`."""
    from ray.serve.llm import LLMConfig, build_openai_app  # noqa: PLC0415 - imports vLLM

    model = LLMConfig(
        model_loading_config={"model_id": args["model"]},
        accelerator_config={"kind": "cpu"},
        placement_group_config={"bundle_per_worker": {"CPU": 0.1}},
        deployment_config={"ray_actor_options": {"num_cpus": 0.1}, "num_replicas": 1},
        # every event goes on at once, as with the other systems
        experimental_configs={"stream_batching_interval_ms": 0},
        log_engine_metrics=False,
    )
    ingress = {"num_replicas": 1, "ray_actor_options": {"num_cpus": 0.1}}
    return build_openai_app({"llm_configs": [model], "ingress_deployment_config": ingress})
