"""The private attributes of Ray that the replica table reads still exist in the pinned version."""

import asyncio
import dataclasses
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray._raylet import InnerGcsClient  # type: ignore[attr-defined]  # compiled
from ray.exceptions import RayError
from ray.serve._private import router as ray_router
from ray.serve._private.common import ReplicaID, RunningReplicaInfo
from ray.serve._private.constants import REQUEST_ROUTING_STATS_METHOD
from ray.serve._private.request_router.replica_wrapper import RunningReplica
from ray.serve._private.request_router.request_router import RequestRouter
from ray.serve.config import RequestRouterConfig
from ray.serve.handle import DeploymentHandle

from turnout.config.model_args import ModelArgs
from turnout.config.settings import ModelSettings
from turnout.gateway.replicas import EngineLoad
from turnout_deployments import replica_table
from turnout_deployments.engine import EngineReplica
from turnout_deployments.placement import deployment_options
from turnout_deployments.replica_table import HandleTable, UnknownRayVersion, running

MODEL = {
    "model": "m",
    "sources": ["hf://org/m"],
    "context_window": 1024,
    "resources": {"CPU": 1},
    "accelerator": "cpu",
    "pools": {"reserved": {}},
}


def test_ray_still_has_what_the_table_reads() -> None:
    assert "_asyncio_router" in inspect.getsource(ray_router.SingletonThreadRouter)
    assert "_asyncio_router" in inspect.getsource(ray_router.CurrentLoopRouter)
    source = inspect.getsource(ray_router.AsyncioRouter)
    assert "self._request_router:" in source or "self._request_router =" in source
    assert "self._running_replicas" in source
    source = inspect.getsource(RequestRouter)
    lists = re.findall(r"self\._replicas_list\b.*", source)
    assert any("self._replicas_list = list(" in each for each in lists)
    # another list at every change: never the same one with other contents
    assert not any(
        re.search(r"_replicas_list(\[.*\] =|\.(append|remove|clear))", each) for each in lists
    )
    assert "self._replica_info" in inspect.getsource(RunningReplica)
    assert callable(DeploymentHandle._init)
    fields = {field.name for field in dataclasses.fields(RunningReplicaInfo)}
    assert {"replica_id", "node_id", "actor_name", "replica_metadata", "routing_stats"} <= fields
    assert callable(ReplicaID.to_full_id_str)


def test_ray_still_tells_which_nodes_are_drained() -> None:
    assert callable(InnerGcsClient.get_draining_nodes)  # which `GcsClient` hands calls on to


def test_ray_still_has_the_hooks_that_engines_use() -> None:
    """By text: importing them would import vLLM."""
    assert REQUEST_ROUTING_STATS_METHOD == "record_routing_stats"
    assert callable(EngineReplica.record_routing_stats)
    options = deployment_options(ModelArgs.model_validate(MODEL), "reserved")
    config = RequestRouterConfig(**options["request_router_config"])
    assert config.request_routing_stats_period_s == 1.0
    ray_llm = Path(ray.__file__).parent / "llm/_internal"
    server = (ray_llm / "serve/core/server/llm_server.py").read_text()
    for hook in ("async def _start_engine(self)", "def sync_init(", "await self.engine.start()"):
        assert hook in server
    assert "async def __serve_build_asgi_app__(self)" in server
    assert "self.engine: Optional[LLMEngine] = None" in server
    engine = (ray_llm / "serve/engines/vllm/vllm_engine.py").read_text()
    assert "self._engine_client = self._start_async_llm_engine(" in engine
    assert "executor_class = Executor.get_class(vllm_engine_config)" in engine
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
        wrapped = [SimpleNamespace(_replica_info=info) for info in infos]
        routed = SimpleNamespace(_replicas_list=wrapped)
        inner = SimpleNamespace(_request_router=routed, _running_replicas=None)
        self._router = SimpleNamespace(_asyncio_router=inner)


def info(node: str, address: str = "http://127.0.0.1:5", **stats: Any) -> Any:
    metadata = {"address": address, "context_window": 99, "key": "secret", "max_running": 32}
    name = SimpleNamespace(to_full_id_str=lambda: "app#pool#1")
    return SimpleNamespace(
        replica_id=name,
        actor_name="actor",
        node_id=node,
        replica_metadata=metadata,
        routing_stats=stats,
    )


def table_of(*infos: Any) -> HandleTable:
    table = HandleTable("here")
    table._handles[("app", "reserved")] = FakeHandle(*infos)  # type: ignore[assignment]
    table.configure({"m": ModelSettings(application="app", tier="small", pools=("reserved",))})
    return table


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
    table = table_of(info(node, address))
    (replica,) = table.replicas("m")
    assert (replica.address, replica.context_window, replica.id) == (reached, 99, "app#pool#1")
    assert replica.key == "secret"
    assert replica.max_running == 32


def test_a_router_that_has_not_heard_yet_has_no_replicas() -> None:
    handle = FakeHandle()
    handle._router._asyncio_router._request_router = None
    assert running(handle) == ()  # type: ignore[arg-type]


def test_what_an_engine_tells_is_its_load_and_nothing_before_it_has_told() -> None:
    told: dict[str, Any] = {
        "waiting": 2,
        "running": 3,
        "kv_usage": 0.5,
        "ttft_s": 0.1,
        "itl_s": None,
    }
    (replica,) = table_of(info("here", **told)).replicas("m")
    assert replica.load == EngineLoad(2, 3, 0.5, 0.1, None)
    (silent,) = table_of(info("here")).replicas("m")
    assert silent.load is None
    (of_another_version,) = table_of(info("here", queue=7)).replicas("m")
    assert of_another_version.load is None


def test_a_replica_is_read_once_until_something_changes() -> None:
    table = table_of(info("here", waiting=1))
    (before,) = listed = table.replicas("m")
    assert table.replicas("m") is listed
    table._handles[("app", "reserved")] = FakeHandle(info("here", waiting=2))  # type: ignore[assignment]
    assert table.replicas("m")[0] is not before


async def test_replicas_of_a_node_being_drained_are_not_ready() -> None:
    table = table_of(info("there", "http://10.1.2.3:5"))
    assert [each.is_draining for each in table.known("m")] == [False]
    table.start(lambda: frozenset({"there"}))
    async with asyncio.timeout(30):
        while table.replicas("m"):
            await asyncio.sleep(0.01)
    assert [each.is_draining for each in table.known("m")] == [True]


async def test_drains_stay_as_known_while_the_head_node_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0

    def away() -> frozenset[str]:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise RayError
        return frozenset({"there"})

    monkeypatch.setattr(replica_table, "DRAIN_WATCH_PERIOD_S", 0.0)
    table = table_of(info("there", "http://10.1.2.3:5"))
    table.start(away)
    async with asyncio.timeout(30):
        while asked < 4:
            await asyncio.sleep(0.01)
    assert [each.is_draining for each in table.known("m")] == [True]
