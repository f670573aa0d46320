"""A second server that is no engine of ours: the fake engine as an upstream, over HTTP."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.platform.gateway.fake_engine import FakeEngine
from tests.platform.gateway.memory import Records
from tests.platform.gateway.system import MODELS, System

from turnout.gateway.app import Governance

KEY = "sk-upstream-secret-0123456789"
PRICE = {"input_usd_per_million_tokens": 1.0, "output_usd_per_million_tokens": 10.0}


class Provider(FakeEngine):
    """An OpenAI-compatible server with keys, rates and words of its own."""

    def __init__(self) -> None:
        super().__init__("their-name")
        self.keys: set[str] = {KEY}
        self.refuses: tuple[int, bytes, dict[str, str]] | None = None

    async def _respond(self, path: str, body: dict[str, Any], send: Any) -> None:
        key = self.headers[-1].get("authorization", "").removeprefix("Bearer ")
        refusal = self.refuses
        if self.keys and key not in self.keys:
            refusal = (401, f'{{"error": {{"message": "bad key {key}"}}}}'.encode(), {})
        if refusal is None:
            await super()._respond(path, body, send)
            return
        status, data, more = refusal
        head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
        head += [(name.encode(), value.encode()) for name, value in more.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": data})


@dataclass
class Beyond:
    """The gateway over a small and a large engine, and an upstream called `far`."""

    system: System
    provider: Provider
    url: str
    records: Records = field(default_factory=Records)

    def configure(self, more: Any = None, models: Any = None, **upstream: Any) -> None:
        """Takes settings: of `far`, of its upstream, and of other models."""
        far = {
            "upstream": {
                "base_url": f"{self.url}/v1",
                "model": "their-name",
                "context_window": 4096,
                "api_key_env": "FAR_KEY",
                **upstream,
            },
            "price": PRICE,
            **(more or {}),
        }
        if "api_key_file" in upstream:
            del far["upstream"]["api_key_env"]
        all_models = {**copy.deepcopy(MODELS), "far": far}
        for name, changes in (models or {}).items():
            all_models[name] |= changes
        self.system.configure(models=all_models, engine_fields=("top_k", "min_p"))


@pytest.fixture
async def beyond(system: System, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Beyond]:
    monkeypatch.setenv("FAR_KEY", KEY)
    provider = Provider()
    url = await system.start(provider)
    system.engines["far"] = provider
    built = Beyond(system, provider, url)
    system.gateway.govern(Governance(ledger=built.records))
    built.configure()
    yield built
    await system.gateway.close()
