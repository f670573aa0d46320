"""One engine replica: Ray's LLMServer inside, its OpenAI app on a port of its own outside."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from turnout.config.model_args import ModelArgs
from turnout_deployments.asgi_call import call
from turnout_deployments.engine_stats import EngineStats
from turnout_deployments.pool_replica import PoolReplica


class EngineReplica(PoolReplica):
    """Hosts one vLLM engine through `ray.serve.llm` and serves its HTTP API on its own port.

    Ray's server by composition, not inheritance: only a starting replica imports vLLM, so building
    and deploying an application stays light.
    """

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, args: dict[str, Any], market: str
    ) -> None:
        """Fetches the weights, starts the engine and opens the port; returns when it can answer."""
        from turnout.models.fetch import ensure_model  # noqa: PLC0415
        from turnout_deployments.llm_server import server_for  # noqa: PLC0415 - imports vLLM
        from turnout_deployments.model import llm_config  # noqa: PLC0415 - cycle

        # A host that may be asked for media may not send the engine on to another one.
        os.environ.setdefault("VLLM_MEDIA_URL_ALLOW_REDIRECTS", "0")
        self._stats = EngineStats()
        self._args = ModelArgs.model_validate(args)
        source = await asyncio.to_thread(ensure_model, self._args.sources)
        server = server_for(self._args, llm_config(self._args, source))
        self._server = server
        await server.start()
        app = await server.__serve_build_asgi_app__()
        await self._warm_up(app)
        self._stats.read()  # how slow first-use work was is nobody's to learn from
        await self._open(app, self._args, market, _max_running(server))

    async def _warm_up(self, app: Any) -> None:
        """Answers one tiny request of each kind, so that no client waits for first-use work."""
        ask = {"model": self._args.model, "max_tokens": 2}
        chat = {**ask, "messages": [{"role": "user", "content": "Hi"}]}
        for path, body in (("chat/completions", chat), ("completions", {**ask, "prompt": "Hi"})):
            async for _ in call(app, f"/v1/{path}", json.dumps(body).encode()):
                pass  # a model without a chat template answers 400 to the first: no harm

    def record_routing_stats(self) -> dict[str, Any]:
        """Tells every handle of this pool how busy the engine is (Serve's own hook)."""
        return self._stats.read()

    async def check_health(self) -> None:
        """Raises when the engine is dead or its port closed; Serve then replaces the replica."""
        await super().check_health()
        await self._server.check_health()


def _max_running(server: Any) -> int:
    """Returns how many requests the engine of a started LLMServer works on at once.

    Read from vLLM's own configuration, whose default depends on the machine; Ray keeps it private.
    """
    return int(server.engine._engine_client.vllm_config.scheduler_config.max_num_seqs)
