"""A Serve application of one pool whose only replica names the mock as its address.

To Turnout's gateway it is a model's pool: an application with a deployment named after its market,
whose replicas tell where they answer (`record_replica_metadata`, which Serve calls).
"""

from __future__ import annotations

from typing import Any


class EchoReplica:
    """Answers nothing itself."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    def record_replica_metadata(self) -> dict[str, Any]:
        """Returns address, model, market and context window, as an engine's replica does."""
        return self._told


def build(args: dict[str, Any]) -> Any:
    """Returns the application; `args` is what its replica tells."""
    from ray import serve  # noqa: PLC0415 - only where Ray is

    define: Any = serve.deployment
    options = {"name": args["market"], "ray_actor_options": {"num_cpus": 0.1}}
    return define(EchoReplica, **options).bind(args)
