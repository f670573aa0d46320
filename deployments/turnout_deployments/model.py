"""The Serve application of one model: a root without CPU over one deployment per market."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray import serve
from ray.serve.deployment import Application

from turnout.config.model_args import ModelArgs, ReplicaArgs
from turnout.config.settings import Market
from turnout_deployments.engine import EngineReplica
from turnout_deployments.placement import deployment_options
from turnout_deployments.pool_replica import PoolReplica

if TYPE_CHECKING:
    from ray.serve.llm import LLMConfig


def build(args: dict[str, Any]) -> Application:
    """Builds a model's application; the import path of `config.yaml` (no vLLM is imported here)."""
    model = ModelArgs.model_validate(args)
    return application_of(
        EngineReplica, model, args, lambda market: deployment_options(model, market)
    )


def application_of(
    replica: type[PoolReplica],
    model: ReplicaArgs,
    args: dict[str, Any],
    options: Callable[[Market], dict[str, Any]],
) -> Application:
    """Returns a root over one deployment of a kind of replica for each market."""
    define: Any = serve.deployment
    pools = {
        market: define(replica, **options(market)).bind(args, market) for market in model.pools
    }
    root = define(Model, name="Model", ray_actor_options={"num_cpus": 0})
    application: Application = root.bind(model.model, pools)
    return application


class Model:
    """Holds a model's pools in one application; serves nothing itself and uses no CPU."""

    def __init__(self, model: str, pools: dict[str, Any]) -> None:
        self.model = model
        self.pools = pools


def llm_config(args: ModelArgs, model_source: str) -> LLMConfig:
    """Returns Ray's `LLMConfig` for an engine of `args` whose weights are at `model_source`."""
    from ray.serve.llm import LLMConfig  # noqa: PLC0415 - imports vLLM: seconds

    on_cpu = args.accelerator == "cpu"
    # With pipeline stages on other nodes Ray's own step sees to the weights there.
    is_here = Path(model_source).is_dir() and args.pipeline_parallel_size == 1
    callback = {"callback_class": "turnout_deployments.local_weights.LocalWeights"}
    return LLMConfig(
        model_loading_config={"model_id": args.model, "model_source": model_source},
        engine_kwargs={
            "max_model_len": args.context_window,
            "tensor_parallel_size": args.tensor_parallel_size,
            "pipeline_parallel_size": args.pipeline_parallel_size,
            **args.engine_args,
        },
        accelerator_type=None if on_cpu else args.accelerator,
        accelerator_config={"kind": "cpu" if on_cpu else "gpu"},
        placement_group_config={"bundle_per_worker": dict(args.resources)},
        runtime_env={"env_vars": dict(args.environment)},
        experimental_configs={"stream_batching_interval_ms": 0},
        # vLLM's own /metrics on the replica's port is live; Ray's copy of it lags by seconds.
        log_engine_metrics=False,
        callback_config=callback if is_here else {},
    )
