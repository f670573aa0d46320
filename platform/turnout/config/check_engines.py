"""Checks of one model's `args`: parallel layout, resources, window, engine arguments."""

from collections.abc import Iterator, Mapping

from turnout.config.model_args import OWNED_ENGINE_ARGS, ModelArgs
from turnout.config.problems import Document, Loc, Problem
from turnout.config.view import View
from turnout.models.errors import InvalidSource
from turnout.models.facts import ModelFacts
from turnout.models.source import parse

_VLLM_GPU_MEMORY_UTILIZATION = 0.92  # vLLM's default
_LONG_WINDOW = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"  # the operator's word that the model can


def check_engines(view: View, facts: Mapping[str, ModelFacts]) -> Iterator[Problem]:
    """Finds engines that could not start, or not as their `args` say."""
    document = view.document
    for app in view.of_kind("model"):
        yield from _owned(document, (*app.loc, "args"), app.raw.get("args"))
    for app, args in view.engines:
        loc = (*app.loc, "args")
        yield from _sources(document, loc, args)
        yield from _resources(document, loc, args)
        yield from _node(document, loc, args)
        yield from _shared_gpu(document, loc, args)
        if args.model in facts:
            yield from _shape(document, loc, args, facts[args.model])


def _owned(document: Document, loc: Loc, raw: object) -> Iterator[Problem]:
    engine_args = raw.get("engine_args") if isinstance(raw, Mapping) else None
    for key, value in (engine_args if isinstance(engine_args, Mapping) else {}).items():
        owner = OWNED_ENGINE_ARGS.get(str(key).replace("-", "_"))
        if owner:
            message = f"args.{owner} sets this: remove it here and set {owner} there"
            yield document.problem((*loc, "engine_args", key), value, message)


def _sources(document: Document, loc: Loc, args: ModelArgs) -> Iterator[Problem]:
    for index, source in enumerate(args.sources):
        try:
            parse(source)
        except InvalidSource as error:
            yield document.problem((*loc, "sources", index), source, error.problem)
        if source in args.sources[:index]:
            yield document.problem((*loc, "sources", index), source, "given twice: keep one")


def _resources(document: Document, loc: Loc, args: ModelArgs) -> Iterator[Problem]:
    gpus = args.resources.get("GPU")
    where = (*loc, "resources")
    if args.on_cpu and gpus is not None:
        message = "accelerator is 'cpu': name the GPU's type there (such as H100) or drop GPU here"
        yield document.problem((*where, "GPU"), gpus, message)
    elif not args.on_cpu and gpus is None:
        message = (
            f"accelerator is '{args.accelerator}': say how much of a GPU a worker gets (GPU: 1)"
        )
        yield document.problem(where, dict(args.resources), message)
    elif gpus is not None and gpus > 1:
        message = "a worker uses one GPU: at most 1; for more GPUs raise tensor_parallel_size"
        yield document.problem((*where, "GPU"), gpus, message)
    elif gpus is not None and gpus < 1 and args.workers > 1:
        message = (
            f"{args.workers} workers of one engine may not share GPUs: use GPU: 1, or "
            "tensor_parallel_size and pipeline_parallel_size 1"
        )
        yield document.problem((*where, "GPU"), gpus, message)


def _node(document: Document, loc: Loc, args: ModelArgs) -> Iterator[Problem]:
    if not args.on_cpu and args.tensor_parallel_size > args.gpus_per_node:
        message = (
            f"exceeds the GPUs of a node bundle (gpus_per_node: {args.gpus_per_node}): at most "
            f"{args.gpus_per_node}; spread a larger model by pipeline_parallel_size"
        )
        yield document.problem((*loc, "tensor_parallel_size"), args.tensor_parallel_size, message)


def _shared_gpu(document: Document, loc: Loc, args: ModelArgs) -> Iterator[Problem]:
    share = args.resources.get("GPU", 1)
    used = args.engine_args.get("gpu_memory_utilization", _VLLM_GPU_MEMORY_UTILIZATION)
    if args.on_cpu or share >= 1 or not isinstance(used, int | float) or used <= share:
        return
    message = (
        f"above the worker's share of the GPU ({share:g}), so engines on one GPU would not fit "
        f"beside each other: at most {share:g}"
    )
    yield document.problem((*loc, "engine_args", "gpu_memory_utilization"), used, message)


def _shape(document: Document, loc: Loc, args: ModelArgs, facts: ModelFacts) -> Iterator[Problem]:
    size, window = args.tensor_parallel_size, args.context_window
    if misfit := _heads_misfit(size, facts):
        yield document.problem((*loc, "tensor_parallel_size"), size, misfit)
    stretched = "hf_overrides" in args.engine_args or _LONG_WINDOW in args.environment
    if window > facts.max_context and not stretched:
        message = f"above the model's own window: at most {facts.max_context}"
        yield document.problem((*loc, "context_window"), window, message)


def _heads_misfit(size: int, facts: ModelFacts) -> str | None:
    """Says why workers cannot share the heads; vLLM copies KV heads to more workers than heads."""
    heads, kv_heads = facts.attention_heads, facts.kv_heads
    if _heads_fit(size, heads, kv_heads):
        return None
    fitting = [n for n in range(1, heads + 1) if _heads_fit(n, heads, kv_heads)]
    listed = ", ".join(map(str, fitting))
    return (
        f"does not divide the model's {heads} attention heads and {kv_heads} KV heads: "
        f"one of {listed}"
    )


def _heads_fit(size: int, heads: int, kv_heads: int) -> bool:
    kv_fit = kv_heads % size == 0 if size <= kv_heads else size % kv_heads == 0
    return heads % size == 0 and kv_fit
