"""The private attributes of Ray that the replica table reads still exist in the pinned version."""

import dataclasses
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray.serve._private import router as ray_router
from ray.serve._private.common import ReplicaID, RunningReplicaInfo
from ray.serve._private.request_router.replica_wrapper import RunningReplica
from ray.serve._private.request_router.request_router import RequestRouter
from ray.serve.handle import DeploymentHandle

from turnout.config.settings import ModelSettings
from turnout_deployments import replica_table
from turnout_deployments.replica_table import HandleTable, UnknownRayVersion, running


def test_ray_still_has_what_the_table_reads() -> None:
    assert "_asyncio_router" in inspect.getsource(ray_router.SingletonThreadRouter)
    assert "_asyncio_router" in inspect.getsource(ray_router.CurrentLoopRouter)
    source = inspect.getsource(ray_router.AsyncioRouter)
    assert "self._request_router:" in source or "self._request_router =" in source
    assert "self._running_replicas" in source
    assert "self._replicas" in inspect.getsource(RequestRouter)
    assert "self._replica_info" in inspect.getsource(RunningReplica)
    assert callable(DeploymentHandle._init)
    fields = {field.name for field in dataclasses.fields(RunningReplicaInfo)}
    assert {"replica_id", "node_id", "replica_metadata"} <= fields
    assert callable(ReplicaID.to_full_id_str)


def test_ray_still_has_the_hooks_that_engines_use() -> None:
    """By text: importing them would import vLLM."""
    ray_llm = Path(ray.__file__).parent / "llm/_internal"
    server = (ray_llm / "serve/core/server/llm_server.py").read_text()
    for hook in ("async def _start_engine(self)", "def sync_init(", "await self.engine.start()"):
        assert hook in server
    assert "async def __serve_build_asgi_app__(self)" in server
    callback = (ray_llm / "common/callbacks/base.py").read_text()
    assert "async def on_before_node_init(self)" in callback
    assert "run_init_node: bool" in callback


def test_another_ray_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_table, "RAY_VERSION", "2.0.0")
    with pytest.raises(UnknownRayVersion, match=r"the replica table knows 2\.0\.0"):
        HandleTable("node")


class FakeHandle:
    """Stands for an initialized handle whose router has these replicas."""

    def __init__(self, *infos: Any) -> None:
        wrapped = {n: SimpleNamespace(_replica_info=info) for n, info in enumerate(infos)}
        routed = SimpleNamespace(_replicas=wrapped)
        inner = SimpleNamespace(_request_router=routed, _running_replicas=None)
        self._router = SimpleNamespace(_asyncio_router=inner)


def info(node: str, address: str) -> Any:
    metadata = {"address": address, "context_window": 99}
    name = SimpleNamespace(to_full_id_str=lambda: "app#pool#1")
    return SimpleNamespace(replica_id=name, node_id=node, replica_metadata=metadata)


@pytest.mark.parametrize(
    ("node", "address", "reached"),
    [
        ("here", "http://127.0.0.1:5", "http://127.0.0.1:5"),
        ("there", "http://127.0.0.1:5", None),
        ("there", "http://10.1.2.3:5", "http://10.1.2.3:5"),
    ],
)
def test_a_loopback_address_of_another_node_is_not_used(
    node: str, address: str, reached: str | None
) -> None:
    table = HandleTable("here")
    table._handles[("app", "reserved")] = FakeHandle(info(node, address))  # type: ignore[assignment]
    model = ModelSettings(application="app", tier="small", pools=("reserved",))
    table.configure({"m": model})
    (replica,) = table.replicas("m")
    assert (replica.address, replica.context_window, replica.id) == (reached, 99, "app#pool#1")


def test_a_router_that_has_not_heard_yet_has_no_replicas() -> None:
    handle = FakeHandle()
    handle._router._asyncio_router._request_router = None
    assert running(handle) == []  # type: ignore[arg-type]
