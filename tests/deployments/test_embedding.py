"""What a pool of embedding replicas asks of the cluster, and what a replica tells of itself."""

from __future__ import annotations

import httpx
import pytest

from turnout.config.embedding_args import EmbeddingArgs
from turnout_deployments.embedding import EmbeddingReplica, options
from turnout_deployments.replica_table import load_of

ARGS = {
    "model": "vectors",
    "context_window": 256,
    "resources": {"CPU": 0.2},
    "environment": {"OMP_NUM_THREADS": "1"},
    "pools": {"reserved": {}, "spot": {"node_labels": {"ray.io/market-type": "spot"}}},
}


def test_a_replica_on_the_cpu_asks_for_its_share() -> None:
    asked = options(EmbeddingArgs.model_validate(ARGS), "reserved")
    assert asked["placement_group_bundles"] == [{"CPU": 0.2}]
    actor = asked["ray_actor_options"]
    assert (actor["num_cpus"], actor["num_gpus"]) == (0.2, 0)
    assert actor["runtime_env"] == {"env_vars": {"OMP_NUM_THREADS": "1"}}
    assert "placement_group_bundle_label_selector" not in asked


def test_one_on_a_gpu_sees_it_and_a_spot_pool_lands_on_spot_nodes() -> None:
    changes = {"device": "cuda", "resources": {"GPU": 0.1, "CPU": 1}}
    asked = options(EmbeddingArgs.model_validate({**ARGS, **changes}), "spot")
    assert (asked["name"], asked["ray_actor_options"]["num_gpus"]) == ("spot", 0.1)
    assert asked["placement_group_bundle_label_selector"] == [{"ray.io/market-type": "spot"}]


async def test_a_replica_answers_where_it_says() -> None:
    replica = EmbeddingReplica.__new__(EmbeddingReplica)
    await replica.__init__(ARGS, "spot")  # type: ignore[misc]  # as Serve does
    told = replica.record_replica_metadata()
    assert (told["model"], told["market"], told["context_window"]) == ("vectors", "spot", 256)
    assert told["max_running"] == 64
    async with httpx.AsyncClient(base_url=told["address"], trust_env=False) as client:
        ask = {"model": "vectors", "input": ["a", "b"]}
        assert (await client.post("/v1/embeddings", json=ask)).status_code == 401
        client.headers["authorization"] = f"Bearer {told['key']}"
        answer = await client.post("/v1/embeddings", json=ask)
        assert [len(each["embedding"]) for each in answer.json()["data"]] == [384, 384]
    load = load_of(replica.record_routing_stats())
    assert load is not None
    assert (load.waiting, load.running) == (0, 0)
    parts = [part async for part in replica.asgi("/tokenize", b"{}")]
    assert parts[0][0] == 400
    await replica.check_health()
    await replica._port.close()
    with pytest.raises(RuntimeError, match="has closed"):
        await replica.check_health()
