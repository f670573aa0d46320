"""Opens what a workload names: synthetic text, a dataset's file, or a trace."""

from __future__ import annotations

from turnout_load.errors import BadOption
from turnout_load.spec import Workload
from turnout_load.workload import chat_file, csv_trace, mooncake, request_log
from turnout_load.workload.lengths import length
from turnout_load.workload.seeded import generator
from turnout_load.workload.source import Source
from turnout_load.workload.synthetic import Synthetic
from turnout_load.workload.text import Prose

TRACES = "azure:PATH, mooncake:PATH, burstgpt:PATH or log:PATH"
FORMATS = ("auto", "chat", "sharegpt", "log")


def source(workload: Workload, seed: int) -> Source:
    """Returns the workload's conversations; raises BadOption, or BadData for a useless file."""
    if workload.dataset_format not in FORMATS:
        raise BadOption("--dataset-format", workload.dataset_format, ", ".join(FORMATS))
    if workload.trace is not None and workload.dataset is not None:
        raise BadOption("--trace", workload.trace, "no --dataset beside it")
    prose = Prose.load(workload.tokenizer)
    if workload.trace is not None:
        return _trace(workload.trace, prose, seed)
    if workload.dataset is not None:
        return _dataset(workload.dataset, workload.dataset_format, prose, seed)
    return Source(_synthetic(workload, prose, seed))


def _trace(trace: str, prose: Prose, seed: int) -> Source:
    kind, _, path = trace.partition(":")
    if path and kind == "azure":
        return csv_trace.read(path, csv_trace.AZURE, prose, seed)
    if path and kind == "burstgpt":
        return csv_trace.read(path, csv_trace.BURSTGPT, prose, seed)
    if path and kind == "mooncake":
        return mooncake.read(path, prose, seed)
    if path and kind == "log":
        return request_log.read(path, prose, seed, timed=True)
    raise BadOption("--trace", trace, TRACES)


def _dataset(path: str, form: str, prose: Prose, seed: int) -> Source:
    if form == "log" or (form == "auto" and request_log.is_log(path)):
        return request_log.read(path, prose, seed, timed=False)
    return chat_file.read(path)


def _synthetic(workload: Workload, prose: Prose, seed: int) -> Synthetic:
    tokens = workload.shared_prefix_tokens
    if tokens < 0:
        raise BadOption("--shared-prefix-tokens", str(tokens), "0 or more")
    return Synthetic(
        seed,
        prose,
        length("--input-tokens", workload.input_tokens),
        length("--output-tokens", workload.output_tokens or "fixed:64"),
        length("--turns", workload.turns),
        prose.text(generator(seed, "prefix"), tokens) if tokens else "",
    )
