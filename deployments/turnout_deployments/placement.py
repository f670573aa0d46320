"""What one replica asks of the cluster: pure functions of a model's args, without Ray or vLLM."""

from __future__ import annotations

from typing import Any

from turnout.config.model_args import ModelArgs
from turnout.config.settings import Market

MAX_ONGOING_REQUESTS = 256
"""What one replica takes over the handle path; a `deployments` entry may say otherwise."""

ROUTING_STATS_PERIOD_S = 1.0
"""How often Serve asks an engine how busy it is (`EngineReplica.record_routing_stats`)."""

Bundle = dict[str, float]


def bundles(args: ModelArgs) -> list[Bundle]:
    """Returns one resource bundle per engine worker; the first also holds the replica itself.

    The same shape as `ray.serve.llm.LLMServer.get_deployment_options` gives (tests compare them),
    without its import of vLLM, which costs a deploy many seconds.
    """
    worker = {name: float(amount) for name, amount in args.resources.items()}
    if args.accelerator != "cpu":
        worker.setdefault(f"accelerator_type:{args.accelerator}", 0.001)
    count = args.tensor_parallel_size * args.pipeline_parallel_size
    first = dict(worker)
    first["CPU"] = first.get("CPU", 0.0) + args.replica_cpus
    return [first, *(dict(worker) for _ in range(count - 1))]


def deployment_options(args: ModelArgs, market: Market) -> dict[str, Any]:
    """Returns the Serve deployment options of one pool, replica bounds aside."""
    shape = bundles(args)
    options: dict[str, Any] = {
        "name": market,
        "placement_group_bundles": shape,
        # The workers of one engine exchange every layer's activations: keep them on one node.
        "placement_group_strategy": "STRICT_PACK" if args.pipeline_parallel_size == 1 else "PACK",
        "ray_actor_options": {
            "num_cpus": args.replica_cpus,
            "runtime_env": {"env_vars": dict(args.environment)},
        },
        # Requests reach a replica on its own port, past Serve: vLLM's scheduler is the queue.
        "max_ongoing_requests": MAX_ONGOING_REQUESTS,
        "request_router_config": {"request_routing_stats_period_s": ROUTING_STATS_PERIOD_S},
        "health_check_period_s": 2,
        "health_check_timeout_s": 30,
        "graceful_shutdown_timeout_s": 20,
    }
    labels = dict(args.pools[market].node_labels)
    if labels:
        options["placement_group_bundle_label_selector"] = [labels for _ in shape]
    return options
