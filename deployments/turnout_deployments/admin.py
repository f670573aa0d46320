"""The admin API's Serve deployment: one replica, on a listener of its own."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from ray import serve
from ray.serve.deployment import Application

from turnout.admin.app import build_admin
from turnout.admin.key import ADMIN_KEY_FILE, make_key_file, read_keys
from turnout.config.settings import AdminSettings
from turnout.store.engine import open_store, state_dir
from turnout.store.migrate import migrate
from turnout.store.retention import keep_usage
from turnout.usage.admin_routes import router as usage_routes
from turnout_deployments.capacity_watch import watch_capacity
from turnout_deployments.http_port import HttpPort, NoFreePort, listen

NAME = "Admin"
_PORT_WAIT_S = 30.0
"""A replica that this one replaces may hold the port while it drains."""


def bind() -> Application:
    """Returns the deployment, to be bound as a child of the gateway's."""
    deployment: Any = serve.deployment(
        AdminReplica,
        name=NAME,
        num_replicas=1,
        ray_actor_options={"num_cpus": 0},
        health_check_period_s=5,
        user_config=AdminSettings().model_dump(),
    )
    application: Application = deployment.bind()
    return application


class AdminReplica:
    """Serves the admin API where `user_config` (`AdminSettings`) says.

    The admin key comes from TURNOUT_ADMIN_KEY or TURNOUT_ADMIN_KEY_FILE, else from a file that is
    made in the state folder; the database from DATABASE_URL.
    """

    async def __init__(self) -> None:  # type: ignore[misc]  # Serve awaits it
        """Opens the database and brings it to the newest schema; `reconfigure` opens the port."""
        self._store = open_store()
        await migrate(self._store)
        key_file = state_dir() / ADMIN_KEY_FILE
        make_key_file(key_file)
        self._app = build_admin(self._store, read_keys(default=key_file), [usage_routes])
        self._watch = asyncio.create_task(watch_capacity(self._store))
        self._cleaning: asyncio.Task[None] | None = None
        self._settings: AdminSettings | None = None
        self._port: HttpPort | None = None

    async def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Listens where the settings say; raises `NoFreePort` where that port stays taken."""
        settings = AdminSettings.model_validate(user_config)
        if settings == self._settings:
            return
        self._stop_cleaning()
        if settings.usage_days is not None:
            self._cleaning = asyncio.create_task(keep_usage(self._store, settings.usage_days))
        await self._close_port()
        port = HttpPort(self._app, await _listen(settings.host, settings.port))
        await port.start()
        self._port, self._settings = port, settings

    async def check_health(self) -> None:
        """Fails when the port is closed, so that Serve replaces this replica."""
        if self._port is None or not self._port.is_serving:
            raise RuntimeError("the admin API's port is closed")

    async def address(self) -> str:
        """Returns where the admin API answers."""
        return "" if self._port is None else self._port.address

    async def close(self) -> None:
        """Closes the port and the database."""
        self._watch.cancel()
        self._stop_cleaning()
        await self._close_port()
        await self._store.dispose()

    def _stop_cleaning(self) -> None:
        if self._cleaning is not None:
            self._cleaning.cancel()
            self._cleaning = None

    async def _close_port(self) -> None:
        if self._port is not None:
            await self._port.close()
            self._port = self._settings = None


async def _listen(host: str, port: int) -> socket.socket:
    """Returns a socket bound to a port, once that is free."""
    deadline = asyncio.get_running_loop().time() + _PORT_WAIT_S
    while True:
        try:
            return listen(host, (port, port))
        except NoFreePort:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.25)
