"""Serve's REST API on Ray's dashboard port: deploy, look, delete."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

from turnout.cluster.errors import ServeRefused
from turnout.cluster.local_http import open_local

PATH = "/api/serve/applications/"


@dataclass(frozen=True)
class PoolStatus:
    """One deployment: its state and how many of its replicas run."""

    name: str
    status: str
    message: str
    running: int
    target: int


@dataclass(frozen=True)
class ApplicationStatus:
    """One application as Serve reports it."""

    name: str
    status: str
    message: str
    pools: tuple[PoolStatus, ...]

    @property
    def is_running(self) -> bool:
        """Whether every deployment of the application is up."""
        return self.status == "RUNNING"

    @property
    def has_failed(self) -> bool:
        """Whether Serve has given up starting it."""
        return self.status == "DEPLOY_FAILED"


class ServeApi:
    """Calls Serve's REST API with the cluster's token; raises `ServeRefused`."""

    def __init__(self, dashboard: str, token: str) -> None:
        self._url = dashboard + PATH
        self._token = token

    def deploy(self, config: dict[str, Any]) -> None:
        """Makes the cluster run exactly this config; applications that did not change stay."""
        self._call("PUT", config, timeout_s=60)

    def details(self) -> dict[str, Any]:
        """Returns everything Serve tells about its applications."""
        return self._call("GET", timeout_s=10)

    def applications(self) -> list[ApplicationStatus]:
        """Returns the applications' states."""
        return parse_applications(self.details())

    def delete(self, timeout_s: float) -> None:
        """Shuts every application down."""
        self._call("DELETE", timeout_s=timeout_s)

    def _call(self, method: str, body: Any = None, *, timeout_s: float) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        request = Request(self._url, data=data, headers=headers, method=method)
        try:
            with open_local(request, timeout_s) as answer:
                text = answer.read()
        except HTTPError as error:
            problem = error.read().decode(errors="replace").strip()
            raise ServeRefused(method, problem[-2000:] or str(error)) from None
        except (URLError, OSError) as error:
            raise ServeRefused(method, str(error)) from None
        return dict(json.loads(text)) if text.strip() else {}


def parse_applications(details: dict[str, Any]) -> list[ApplicationStatus]:
    """Reads Serve's instance details. Pure."""
    return [
        ApplicationStatus(
            name,
            application["status"],
            application.get("message", ""),
            tuple(_pool(pool) for pool in application.get("deployments", {}).values()),
        )
        for name, application in details.get("applications", {}).items()
    ]


def _pool(deployment: dict[str, Any]) -> PoolStatus:
    replicas = deployment.get("replicas", [])
    return PoolStatus(
        deployment["name"],
        deployment["status"],
        deployment.get("message", ""),
        sum(replica["state"] == "RUNNING" for replica in replicas),
        deployment.get("target_num_replicas", len(replicas)),
    )
