"""Turnout: its gateway application on Ray Serve, with the mock as the replicas of two models."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from turnout_load.bench.gateway.admin_api import new_key
from turnout_load.bench.gateway.ray_cluster import serving
from turnout_load.bench.gateway.readiness import await_answer, free_port
from turnout_load.bench.gateway.system import Endpoint, Stage

TIERS = ("small", "large")
MARKET = "reserved"


class Turnout:
    """Everything on: keys, limits, usage, and every request is routed (the model `auto`)."""

    name = "turnout"
    locks: str | None = None

    @contextmanager
    def started(self, stage: Stage) -> Iterator[Endpoint]:
        """Deploys the gateway and its pools on a Ray head of their own, and makes a key."""
        admin_port, admin_key = free_port(), secrets.token_hex(16)
        more = {"TURNOUT_ADMIN_KEY": admin_key, "TURNOUT_STATE_DIR": str(stage.folder / "state")}
        program = Path(sys.executable).with_name("turnout-haproxy")
        if program.exists():
            more["RAY_SERVE_HAPROXY_BINARY_PATH"] = str(program)
        with serving(self.name, stage, applications(stage.mock, admin_port), more) as url:
            key = stage.folder / "key"
            key.write_text(new_key(f"http://127.0.0.1:{admin_port}", admin_key))
            endpoint = Endpoint(f"{url}/v1", "auto", key)
            await_answer(self.name, endpoint, stage, lambda: False)
            yield endpoint


def applications(mock: str, admin_port: int) -> list[dict[str, Any]]:
    """Returns the gateway's application and one for each model."""
    return [gateway(admin_port), *(pool(model, mock) for model in TIERS)]


def gateway(admin_port: int) -> dict[str, Any]:
    """Returns the gateway with a model in each tier and the router on."""
    models = {
        tier: {
            "application": tier,
            "tier": tier,
            "pools": [MARKET],
            "price": {"input_usd_per_million_tokens": 0.02, "output_usd_per_million_tokens": 0.04},
        }
        for tier in TIERS
    }
    router = {"tiers": list(TIERS), "good_enough": {TIERS[0]: 0.65}}
    deployment = {
        "name": "Gateway",
        "num_replicas": 1,
        "ray_actor_options": {"num_cpus": 0.2},
        "user_config": {"models": models, "router": router},
    }
    admin = {"name": "Admin", "user_config": {"host": "127.0.0.1", "port": admin_port}}
    return {
        "name": "gateway",
        "route_prefix": "/",
        "import_path": "turnout_deployments.gateway:build",
        "deployments": [deployment, admin],
    }


def pool(model: str, mock: str) -> dict[str, Any]:
    """Returns a model's application, whose replica is the mock."""
    told = {"address": mock, "model": model, "market": MARKET, "context_window": 8192}
    return {
        "name": model,
        "route_prefix": None,
        "import_path": "turnout_load.bench.gateway.echo_pool:build",
        "args": told,
    }
