"""LiteLLM's proxy: https://docs.litellm.ai/docs/simple_proxy."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from turnout_load.bench.gateway.direct import MODEL
from turnout_load.bench.gateway.processes import launched
from turnout_load.bench.gateway.readiness import await_answer, free_port
from turnout_load.bench.gateway.system import Endpoint, Stage


class LiteLlm:
    """One worker process, a master key, and no database."""

    name = "litellm"
    locks: str | None = "litellm.txt"

    @contextmanager
    def started(self, stage: Stage) -> Iterator[Endpoint]:
        """Starts the proxy's own command with a configuration of one model."""
        port, key = free_port(), stage.folder / "key"
        key.write_text(f"sk-{secrets.token_hex(16)}")
        config = stage.folder / "config.yaml"
        config.write_text(json.dumps(settings(stage.mock, key.read_text())))  # JSON is YAML
        argv = (
            str(stage.python.parent / "litellm"),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--config", str(config), "--num_workers", "1", "--telemetry", "False"),
        )
        # its table of prices comes with it: nothing is fetched at the start
        environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
        endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", MODEL, key)
        with launched(stage, argv, environment) as process:
            await_answer(self.name, endpoint, stage, lambda: process.poll() is not None)
            yield endpoint


def settings(mock: str, key: str) -> dict[str, object]:
    """Returns its configuration: the mock as an OpenAI-compatible server."""
    target = {"model": f"openai/{MODEL}", "api_base": f"{mock}/v1", "api_key": "unused"}
    return {
        "model_list": [{"model_name": MODEL, "litellm_params": target}],
        "general_settings": {"master_key": key},
    }
