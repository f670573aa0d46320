"""Keeps account of what the pools have ready, and so cost; runs in the admin API's one process."""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.config.settings import ModelSettings
from turnout.store.capacity import add_capacity
from turnout.usage.capacity_sampler import CapacitySampler
from turnout_deployments.replica_table import HandleTable

log = logging.getLogger(__name__)
GATEWAY = "Gateway"
SETTINGS_PERIOD_S = 10.0
"""How soon a changed price or pool counts."""
Models = dict[str, ModelSettings]


async def watch_capacity(store: AsyncEngine) -> None:
    """Samples for ever, by the gateway's settings as they are."""
    table = HandleTable(ray.get_runtime_context().get_node_id())
    sampler = CapacitySampler(table, functools.partial(add_capacity, store))
    gateway = serve.get_deployment_handle(
        GATEWAY, serve.get_replica_context().app_name, _check_exists=False
    )
    sampling = asyncio.create_task(sampler.run())
    models: Models = {}
    try:
        while True:
            told = await _models(gateway)
            if told is not None and told != models:
                models = told
                table.configure(models)
                sampler.configure(models)
            await asyncio.sleep(SETTINGS_PERIOD_S)
    finally:
        sampling.cancel()


async def _models(gateway: Any) -> Models | None:
    """Returns the gateway's models; None while it cannot tell."""
    try:
        told = await gateway.models.remote()
    except (RayError, RayServeException) as error:
        log.info("gateway_away", extra={"error": type(error).__name__})
        return None
    return {name: ModelSettings.model_validate(model) for name, model in told.items()}
