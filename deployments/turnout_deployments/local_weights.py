"""Spares an engine whose weights are on its node already Ray's own download step."""

from ray.llm._internal.common.callbacks.base import CallbackBase


class LocalWeights(CallbackBase):
    """Ray's engine callback (`callback_config`): skips the download task on every node.

    The task imports vLLM in a worker of its own only to look at files that `ensure_model` has just
    put there: some 20 s of CPU and 0.5 GB for each engine on a small machine.
    """

    async def on_before_node_init(self) -> None:
        """Tells Ray that there is nothing to download."""
        self.ctx.run_init_node = False
