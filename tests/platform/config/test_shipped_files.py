"""The three files under deployments/ are right, down to the engines' own argument parser."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from turnout.config.deep import deep_check
from turnout.config.deployment_file import DeploymentFile, kind_of
from turnout.config.embedding_args import EmbeddingArgs
from turnout.config.load import load
from turnout.config.model_args import ModelArgs
from turnout.config.settings import GatewaySettings

ROOT = Path(__file__).parents[3]
FILES = [
    ROOT / "deployments" / f"{name}.yaml"
    for name in ("local", "single-gpu", "multi-node", "two-replicas")
]


def misfits(data: Any, model: type[BaseModel]) -> list[str]:
    """What in the data does not fit the model's JSON schema."""
    errors = Draft202012Validator(model.model_json_schema()).iter_errors(data)
    return [error.message for error in errors]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_is_valid(path: Path) -> None:
    assert len(load(path).models) == (1 if path.stem == "two-replicas" else 2)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_fits_the_json_schema(path: Path) -> None:
    data = yaml.safe_load(path.read_text())
    gateway, *hosts = data["applications"]
    assert misfits(data, DeploymentFile) == []
    assert misfits(gateway["deployments"][0]["user_config"], GatewaySettings) == []
    kinds: dict[str, type[BaseModel]] = {"model": ModelArgs, "embedding": EmbeddingArgs}
    assert [each for app in hosts for each in misfits(app["args"], kinds[kind_of(app)])] == []


def test_the_json_schema_refuses_an_unknown_key() -> None:
    data = yaml.safe_load(FILES[0].read_text())
    data["applications"][1]["args"]["contxt_window"] = 1
    assert len(misfits(data, DeploymentFile)) == 1


def test_what_the_local_file_asks_for_fits_two_cores() -> None:
    file = load(FILES[0])
    engines = sum(app.args.resources["CPU"] + app.args.replica_cpus for app in file.models)
    engines += sum(app.args.resources["CPU"] for app in file.embeddings)
    assert engines + file.gateway.deployments[0].ray_actor_options["num_cpus"] <= 2


def test_two_engines_on_one_gpu_leave_a_tenth_of_its_memory() -> None:
    shares = [app.args.engine_args["gpu_memory_utilization"] for app in load(FILES[1]).models]
    assert sum(shares) <= 0.9
    assert sum(app.args.resources["GPU"] for app in load(FILES[1]).models) <= 1


def test_the_cluster_file_serves_8b_on_one_gpu_and_70b_on_four() -> None:
    small, large = load(FILES[2]).models
    assert (small.args.workers, large.args.workers) == (1, 4)
    assert set(small.args.pools) == set(large.args.pools) == {"reserved", "spot"}
    assert (small.bounds("spot"), large.bounds("spot")) == ((0, 6), (0, 3))


@pytest.mark.slow
def test_vllm_ray_and_serve_take_the_shipped_files_and_name_what_they_refuse(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken.yaml"
    text = FILES[1].read_text()
    changes = {
        "max_num_seqs: 128": "max_num_seqs: many",
        "gpu_memory_utilization: 0.20": "gpu_memory_utilization: 0.20\n        dtipe: half",
        "gpus_per_node: 1\n      resources: {GPU: 0.70}": "resources: {GPU: 0.70}",
        "gpu_memory_utilization: 0.65": "gpu_memory_utilization: -0.65\n        dtype: float17",
        "num_replicas: 1": "num_replicas: 1\n        health_check_period_s: -1",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    broken.write_text(text)

    found = deep_check([*FILES, broken])

    assert [found[path] for path in FILES] == [[]] * len(FILES)
    args = "applications[{}].args.engine_args.{}"
    assert {problem.path: problem.value for problem in found[broken]} == {
        "applications[0].deployments[0].health_check_period_s": -1,
        args.format(1, "max_num_seqs"): "many",
        args.format(1, "dtipe"): "half",
        args.format(2, "gpu_memory_utilization"): -0.65,
        args.format(2, "dtype"): "float17",
    }
    messages = {problem.path.rpartition(".")[2]: problem.message for problem in found[broken]}
    assert "did you mean 'dtype'?" in messages["dtipe"]
    assert "choose from 'auto', 'bfloat16'" in messages["dtype"]
    assert all(problem.line for problem in found[broken])


def test_the_schemas_are_json() -> None:
    for model in (DeploymentFile, GatewaySettings, ModelArgs):
        assert json.loads(json.dumps(model.model_json_schema()))["additionalProperties"] is False
