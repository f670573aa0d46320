"""What shapes the replicas of one embedding model: its Serve application's `args`.

As with engines, any change here restarts them.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from turnout.config.model_args import Amount, Count, ReplicaArgs


class EmbeddingArgs(ReplicaArgs):
    """An embedding application's `args`: only what shapes its replicas. A change restarts them."""

    source: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "Folder of a sentence-transformers model (it holds `modules.json`); when absent, the "
            "all-MiniLM-L6-v2 that is installed with Turnout."
        ),
    )
    context_window: Count = Field(
        description="Most tokens of one text; a longer one is refused, never cut off."
    )
    batch_size: Count = Field(
        default=32, description="Most texts computed at once, of all requests that wait."
    )
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="What computes.")
    resources: dict[str, Amount] = Field(
        min_length=1, description="Ray resources of a replica, such as `{CPU: 0.2}`."
    )

    @model_validator(mode="after")
    def _has_its_device(self) -> Self:
        if self.device == "cuda" and "GPU" not in self.resources:
            raise ValueError("device is cuda: say how much of a GPU a replica gets (GPU: 1)")
        if self.device == "cpu" and "GPU" in self.resources:
            raise ValueError("device is cpu: drop GPU from the resources or set device: cuda")
        return self
