"""The gateway without Ray: one process over replicas that a file lists.

    python -m turnout.gateway.standalone replicas.json --port 8000

For engines that somebody else starts, and for trying policies: `--policy` takes those that
benchmarks compare. The file holds `{"settings": {…}, "replicas": […]}` (`Deployment`). Says where
it listens in one line of JSON, and serves until SIGINT or SIGTERM.
"""

import argparse
import json
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import uvicorn
import uvloop
from prometheus_client.metrics_core import Metric
from pydantic import Field, ValidationError

from turnout.config.settings import GatewaySettings, Market, Name, Settings
from turnout.errors import TurnoutError
from turnout.gateway.app import Gateway
from turnout.gateway.balance.choose import Policy, choose
from turnout.gateway.balance.plain import PowerOfTwo, least_requests
from turnout.gateway.balancer import Balancer
from turnout.gateway.dispatch import Difficulty
from turnout.gateway.listener import GuardedHttp
from turnout.gateway.metrics import GatewayMetrics
from turnout.gateway.replicas import Replica
from turnout.gateway.transport import DirectTransport

POLICIES: Mapping[str, Callable[[], Policy]] = {
    "finish-time": lambda: choose,
    "least-requests": lambda: least_requests,
    "power-of-two": lambda: PowerOfTwo(seed=0),
}
Address = Annotated[str, Field(pattern=r"^http://[^/]+$")]


class StaticReplica(Settings):
    """One engine that already serves."""

    id: Name = Field(description="Its name, in logs.")
    model: Name = Field(description="The model it serves, as in `settings.models`.")
    market: Market = Field(description="The pool it belongs to.")
    address: Address = Field(description="Where it answers, without a path.")
    context_window: int = Field(gt=0, description="Most tokens of prompt and answer.")
    max_running: int | None = Field(
        default=None,
        gt=0,
        description="Requests that it runs at once; without it there is no bound.",
    )


class Deployment(Settings):
    """What a standalone gateway serves."""

    settings: GatewaySettings = Field(description="As the gateway's `user_config` on Ray.")
    replicas: tuple[StaticReplica, ...] = Field(description="All replicas of all models.")


class BadDeployment(TurnoutError):
    """A file that cannot be used."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class StaticTable:
    """A replica table that never changes."""

    def __init__(self, replicas: Iterable[StaticReplica]) -> None:
        self._by_model: dict[str, list[Replica]] = {}
        for each in replicas:
            of_model = self._by_model.setdefault(each.model, [])
            of_model.append(
                Replica(
                    each.id,
                    each.model,
                    each.market,
                    each.address,
                    each.context_window,
                    max_running=each.max_running,
                )
            )

    def replicas(self, model: str) -> Sequence[Replica]:
        """Returns the replicas of a model."""
        return self._by_model.get(model, ())


def read(path: Path) -> Deployment:
    """Reads a deployment; raises `BadDeployment` or OSError."""
    try:
        return Deployment.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise BadDeployment(str(path), f"{where}: {first['msg']}") from None


def gateway(deployment: Deployment, transport: DirectTransport, policy: Policy) -> Gateway:
    """Returns the gateway's ASGI app over a deployment's replicas."""

    async def own_metrics() -> Iterable[Iterable[Metric]]:
        return [app.families("standalone")]

    settings = deployment.settings
    transport.configure(settings.limits.connect_timeout_s)
    table, balancer = StaticTable(deployment.replicas), Balancer(policy)
    app = Gateway(table, transport, GatewayMetrics(), own_metrics, balancer=balancer)
    app.configure(settings, _difficulty(settings))
    return app


def _difficulty(settings: GatewaySettings) -> Difficulty:
    if settings.router is None:
        return lambda _text: 0.0  # never asked: `auto` is not offered
    from turnout_router.router import Router  # noqa: PLC0415 - reads the token table

    difficulty: Difficulty = Router.load(settings.router.encoder).difficulty
    return difficulty


async def serve(
    deployment: Deployment, host: str, port: int, policy: Policy, state: Path | None = None
) -> None:
    """Serves until a signal comes."""
    transport = DirectTransport()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(transport.close)
        app = gateway(deployment, transport, policy)
        stack.push_async_callback(app.close)
        if state is not None:
            from turnout.batches.alone import batches  # noqa: PLC0415 - the database's libraries

            await stack.enter_async_context(batches(app, deployment.settings, state))
        with socket.create_server((host, port), backlog=2048) as sock:
            print(
                json.dumps({"url": "http://{}:{}/v1".format(*sock.getsockname()[:2])}), flush=True
            )
            config = uvicorn.Config(
                app,
                http=GuardedHttp,
                log_level="warning",
                access_log=False,
                lifespan="off",
                proxy_headers=False,
            )
            await uvicorn.Server(config).serve(sockets=[sock])


def main(argv: Sequence[str] | None = None) -> None:
    """Reads the options and serves; a refusal is its sentence and exit code 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--policy", choices=POLICIES, default="finish-time")
    parser.add_argument("--state", type=Path, help="folder of files and batches")
    options = parser.parse_args(argv)
    try:
        deployment = read(options.file)
        policy = POLICIES[options.policy]()
        uvloop.run(serve(deployment, options.host, options.port, policy, options.state))
    except (TurnoutError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
