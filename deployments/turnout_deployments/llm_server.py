"""Ray's server and engine classes with two things left out; imports vLLM, which takes seconds."""

from __future__ import annotations

from typing import Any

from ray.llm._internal.serve.engines.vllm.vllm_engine import VLLMEngine
from ray.serve.llm import LLMServer

from turnout.config.model_args import ModelArgs

__all__ = ["server_for"]


class _Server(LLMServer):
    """Ray's server without its usage report.

    The report goes to an actor made for it, and every engine waits until that has started: some
    8 s and 250 MB on a small machine, also when usage statistics are off.
    """

    async def _start_engine(self) -> None:
        engine: Any = self.engine
        await engine.start()


class _OneProcessEngine(VLLMEngine):
    """Ray's engine with the one worker in the engine's process.

    Ray asks for a worker process on a CPU. It and the engine then wait for one another in a loop
    of `sched_yield`, on the cores that should compute.
    """

    def _start_async_llm_engine(
        self, vllm_engine_args: Any, vllm_engine_config: Any, *more: Any
    ) -> Any:
        vllm_engine_config.parallel_config.distributed_executor_backend = "uni"
        return super()._start_async_llm_engine(vllm_engine_args, vllm_engine_config, *more)


def server_for(args: ModelArgs, config: Any) -> Any:
    """Returns Ray's server, not started yet, for an engine of `args`."""
    is_single = args.tensor_parallel_size * args.pipeline_parallel_size == 1
    # vLLM binds threads to cores only in a worker process of its own.
    is_unbound = args.environment.get("VLLM_CPU_OMP_THREADS_BIND") == "nobind"
    if args.accelerator == "cpu" and is_single and is_unbound:
        return _Server.sync_init(config, engine_cls=_OneProcessEngine)
    return _Server.sync_init(config)
