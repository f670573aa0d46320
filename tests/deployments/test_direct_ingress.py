"""The gateway on Serve's own HTTP port: what of Ray it relies on, and what it leaves to Serve."""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from ray._private import worker as ray_worker
from ray.serve._private.replica import Replica, ReplicaActor, ReplicaMetricsManager

from turnout_deployments.direct_ingress import DirectIngress, answer_directly
from turnout_deployments.serve_listener import ServeHttp


def test_ray_still_opens_the_port_as_this_expects() -> None:
    source = inspect.getsource(Replica)
    started = inspect.getsource(Replica._maybe_start_direct_ingress_servers)
    assert "event_loop=self._event_loop" in started
    for attribute in ("self._event_loop =", "self._metrics_manager ="):
        assert attribute in source
    assert "self._replica_impl" in inspect.getsource(ReplicaActor.__init__)
    assert "self.actors = {}" in inspect.getsource(ray_worker.Worker.__init__)
    assert "_num_ongoing_requests += delta" in inspect.getsource(
        ReplicaMetricsManager._change_num_ongoing_requests
    )


class Counted:
    """Stands for Serve's metrics manager."""

    def __init__(self) -> None:
        self.ongoing = 0

    def inc_num_ongoing_requests(self, kind: Any) -> None:
        assert kind.is_direct_ingress
        self.ongoing += 1

    def dec_num_ongoing_requests(self, _kind: Any) -> None:
        self.ongoing -= 1


class ServeReplica:
    """Stands for Serve's replica."""

    def __init__(self) -> None:
        self._metrics_manager = Counted()
        self._event_loop: Any = None


async def call(ingress: DirectIngress, path: str) -> None:
    await ingress({"type": "http", "path": path}, None, None)


async def test_serve_knows_how_many_requests_run_while_the_app_answers() -> None:
    replica, goes_on = ServeReplica(), asyncio.Event()

    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        await goes_on.wait()

    ingress = DirectIngress(app, replica)
    running = [asyncio.create_task(call(ingress, "/v1/models")) for _ in range(3)]
    await asyncio.sleep(0)
    assert replica._metrics_manager.ongoing == 3
    running.pop().cancel()
    goes_on.set()
    await asyncio.gather(*running)
    assert replica._metrics_manager.ongoing == 0


async def test_a_failing_app_leaves_no_request_counted() -> None:
    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        raise LookupError

    replica = ServeReplica()
    with pytest.raises(LookupError):
        await call(DirectIngress(app, replica), "/v1/models")
    assert replica._metrics_manager.ongoing == 0


@pytest.mark.parametrize("is_one_loop", [True, False])
async def test_the_port_asks_the_app_only_where_both_share_an_event_loop(
    monkeypatch: pytest.MonkeyPatch, is_one_loop: bool
) -> None:
    async def app(_scope: Any, _receive: Any, _send: Any) -> None: ...

    replica = ServeReplica()
    replica._event_loop = asyncio.get_running_loop() if is_one_loop else object()
    actor = SimpleNamespace(_replica_impl=replica)
    worker = SimpleNamespace(actor_id="a", actors={"a": actor})
    monkeypatch.setattr(ray_worker, "global_worker", worker)
    monkeypatch.setattr(ServeHttp, "ingress", None)
    answer_directly(app)
    assert isinstance(ServeHttp.ingress, DirectIngress) == is_one_loop
