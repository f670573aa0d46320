"""`ray.serve.llm`: its own OpenAI ingress over its own LLMServer, whose engine asks the mock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from turnout_load.bench.gateway.direct import MODEL
from turnout_load.bench.gateway.echo_engine import MOCK
from turnout_load.bench.gateway.ray_cluster import serving
from turnout_load.bench.gateway.readiness import await_answer
from turnout_load.bench.gateway.system import Endpoint, Stage

ENGINE = "turnout_load.bench.gateway.echo_engine"


class RayServeLlm:
    """One ingress replica, one LLMServer replica."""

    name = "ray-serve-llm"
    locks: str | None = None

    @contextmanager
    def started(self, stage: Stage) -> Iterator[Endpoint]:
        """Deploys Ray's application on a Ray head of its own."""
        application = {
            "name": "llm",
            "route_prefix": "/",
            "import_path": f"{ENGINE}:build",
            "args": {"model": MODEL},
        }
        more = {MOCK: stage.mock, "RAYLLM_VLLM_ENGINE_CLS": f"{ENGINE}.EchoEngine"}
        with serving(self.name, stage, [application], more) as url:
            endpoint = Endpoint(f"{url}/v1", MODEL)
            await_answer(self.name, endpoint, stage, lambda: False)
            yield endpoint
