"""One engine replica: Ray's LLMServer inside, its OpenAI app on a port of its own outside."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import ray

from turnout.config.model_args import ModelArgs
from turnout_deployments.asgi_call import Answer, call
from turnout_deployments.engine_stats import EngineStats
from turnout_deployments.http_port import HttpPort, listen
from turnout_deployments.locked import Locked, port_key


class EngineReplica:
    """Hosts one vLLM engine through `ray.serve.llm` and serves its HTTP API on its own port.

    Composition, not inheritance: only a starting replica imports vLLM, so building and deploying
    an application stays light.
    """

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, args: dict[str, Any], market: str
    ) -> None:
        """Fetches the weights, starts the engine and opens the port; returns when it can answer."""
        from ray.serve.llm import LLMServer  # noqa: PLC0415 - imports vLLM: seconds

        from turnout.models.fetch import ensure_model  # noqa: PLC0415
        from turnout_deployments.model import llm_config  # noqa: PLC0415 - cycle

        # A host that may be asked for media may not send the engine on to another one.
        os.environ.setdefault("VLLM_MEDIA_URL_ALLOW_REDIRECTS", "0")
        self._stats = EngineStats()
        self._args = ModelArgs.model_validate(args)
        self._market = market
        source = await asyncio.to_thread(ensure_model, self._args.sources)
        server: Any = _without_usage_report(LLMServer).sync_init(llm_config(self._args, source))
        self._server = server
        await server.start()
        self._app = await server.__serve_build_asgi_app__()
        await self._warm_up()
        self._key = port_key(os.environ)
        sock = listen(self._host(), self._args.http_port_range)
        self._port = HttpPort(Locked(self._app, self._key), sock)
        await self._port.start()

    async def _warm_up(self) -> None:
        """Answers one tiny request of each kind, so that no client waits for first-use work."""
        ask = {"model": self._args.model, "max_tokens": 2}
        chat = {**ask, "messages": [{"role": "user", "content": "Hi"}]}
        for path, body in (("chat/completions", chat), ("completions", {**ask, "prompt": "Hi"})):
            async for _ in call(self._app, f"/v1/{path}", json.dumps(body).encode()):
                pass  # a model without a chat template answers 400 to the first: no harm

    def _host(self) -> str:
        if self._args.http_host == "node_ip":
            return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]
        return self._args.http_host

    def record_replica_metadata(self) -> dict[str, Any]:
        """Tells every handle of this pool where the replica answers (Serve's own hook)."""
        return {
            "address": self._port.address,
            "key": self._key,
            "model": self._args.model,
            "market": self._market,
            "context_window": self._args.context_window,
            "max_running": _max_running(self._server),
        }

    def record_routing_stats(self) -> dict[str, Any]:
        """Tells every handle of this pool how busy the engine is (Serve's own hook)."""
        return self._stats.read()

    async def check_health(self) -> None:
        """Raises when the engine is dead or its port closed; Serve then replaces the replica."""
        if not self._port.is_serving:
            raise RuntimeError(f"the HTTP port {self._port.address} has closed")
        await self._server.check_health()

    async def asgi(self, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Answers one POST through a handle: the fallback where the port cannot be reached."""
        async for part in call(self._app, path, body):
            yield part


def _max_running(server: Any) -> int:
    """Returns how many requests the engine of a started LLMServer works on at once.

    Read from vLLM's own configuration, whose default depends on the machine; Ray keeps it private.
    """
    return int(server.engine._engine_client.vllm_config.scheduler_config.max_num_seqs)


def _without_usage_report(server_class: Any) -> Any:
    """Returns Ray's server class without its usage report.

    The report goes to an actor made for it, and every engine waits until that has started: some
    8 s and 250 MB on a small machine, also when usage statistics are off.
    """

    class Server(server_class):  # type: ignore[misc]
        async def _start_engine(self) -> None:
            await self.engine.start()

    return Server
