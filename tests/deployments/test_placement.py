"""What a replica asks for is what Ray's own LLMServer would ask for."""

import json
import subprocess
import sys

import pytest

from turnout.config.model_args import ModelArgs
from turnout_deployments.placement import bundles, deployment_options

BASE = {
    "model": "m",
    "sources": ["hf://org/m"],
    "context_window": 1024,
    "resources": {"GPU": 1},
    "accelerator": "H100",
    "pools": {"reserved": {}, "spot": {"node_labels": {"ray.io/market-type": "spot"}}},
}
SHAPES: list[dict[str, object]] = [
    {},
    {"tensor_parallel_size": 4},
    {"tensor_parallel_size": 2, "pipeline_parallel_size": 2, "replica_cpus": 2.0},
    {"resources": {"GPU": 0.45, "CPU": 1}},
    {"accelerator": "cpu", "resources": {"CPU": 0.5}, "replica_cpus": 0.2},
]


@pytest.fixture(scope="module")
def rays_options() -> list[dict[str, object]]:
    """Ray's deployment options for every shape, from one process (it imports vLLM)."""
    code = """
import json, sys
from ray.serve.llm import LLMServer
from turnout.config.model_args import ModelArgs
from turnout_deployments.model import llm_config
shapes = json.load(sys.stdin)
out = []
for shape in shapes:
    args = ModelArgs.model_validate(shape)
    config = llm_config(args, "/nowhere")
    config.deployment_config = {"ray_actor_options": {"num_cpus": args.replica_cpus}}
    out.append(LLMServer.get_deployment_options(config)["placement_group_bundles"])
print("RESULT" + json.dumps(out))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([{**BASE, **shape} for shape in SHAPES]),
        capture_output=True,
        text=True,
        check=True,
    )
    result: list[dict[str, object]] = json.loads(done.stdout.split("RESULT")[1])
    return result


@pytest.mark.slow
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_bundles_are_rays_own(rays_options: list[dict[str, object]], shape: int) -> None:
    ours = bundles(ModelArgs.model_validate({**BASE, **SHAPES[shape]}))
    theirs = rays_options[shape]
    assert [_without_zeros(bundle) for bundle in ours] == [
        _without_zeros(bundle)  # Ray writes GPU: 0 for what is not asked
        for bundle in theirs
    ]


def test_a_spot_pool_lands_on_spot_nodes_only() -> None:
    args = ModelArgs.model_validate({**BASE, "tensor_parallel_size": 2})
    spot, reserved = (deployment_options(args, market) for market in ("spot", "reserved"))
    label = {"ray.io/market-type": "spot"}
    assert spot["placement_group_bundle_label_selector"] == [label, label]
    assert "placement_group_bundle_label_selector" not in reserved


def test_tensor_parallel_workers_stay_on_one_node() -> None:
    split = ModelArgs.model_validate({**BASE, "tensor_parallel_size": 4})
    piped = ModelArgs.model_validate({**BASE, "pipeline_parallel_size": 2})
    assert deployment_options(split, "reserved")["placement_group_strategy"] == "STRICT_PACK"
    assert deployment_options(piped, "reserved")["placement_group_strategy"] == "PACK"


def _without_zeros(bundle: object) -> dict[str, float]:
    assert isinstance(bundle, dict)
    return {name: amount for name, amount in bundle.items() if amount}
