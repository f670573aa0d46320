"""What a run's `result.json` holds; its JSON schema is generated from these classes."""

from __future__ import annotations

from typing import Any

import msgspec

SCHEMA_VERSION = 1


class Struct(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base of every part."""


class Distribution(Struct):
    """Percentiles of one metric, in the unit its name ends with."""

    count: int
    mean: float
    min: float
    max: float
    p50: float
    p75: float
    p90: float
    p95: float
    p99: float
    p99_9: float = msgspec.field(name="p99.9")
    ci95: dict[str, tuple[float, float] | None]
    """A 95% confidence interval of each percentile; null where the sample is too small for one."""


class Counts(Struct):
    """Requests by how they ended."""

    sent: int
    """After the warm-up: ok, failed and unfinished together."""
    ok: int
    failed: int
    unfinished: int
    """Under way when the run was stopped: in no latency figure."""
    warm_up: int
    """Sent before the warm-up's end: in no figure."""


class Rates(Struct):
    """Throughput over the measured time, per second."""

    measured_s: float
    requests_intended: float
    requests_finished: float
    input_tokens: float | None
    output_tokens: float | None


class Goodput(Struct):
    """Requests that met the SLO."""

    slo: list[str]
    share: float
    """Of all requests that were to be answered: a failed one has not met it."""
    requests_per_s: float
    missed: dict[str, int]
    """Requests that missed each part, and under `failed` those that failed."""


class Cost(Struct):
    """What the measured tokens cost."""

    usd: float
    usd_per_million_tokens: float | None
    """Input and output together."""
    usd_per_million_output_tokens: float | None
    because: str
    """Which price was taken."""


class PrefixCache(Struct):
    """Prompt tokens that the server says it had computed before."""

    input_tokens: int
    cached_tokens: int
    share: float


class TokenCheck(Struct):
    """Tokens that the server told, beside those that the tokenizer counts in the texts."""

    answers: int
    """How many answers were checked."""
    by_server: int
    by_tokenizer: int
    difference_percent: float | None
    """(by_server - by_tokenizer) / by_tokenizer; null where the tokenizer counts none."""
    apart: int
    """Answers whose two counts differ by more than 2 tokens."""


class UsageCheck(Struct):
    """The server's usage by `--tokenizer`: each process's first 256 answers after the warm-up.

    They are fewer where their texts are more than 16 MiB.
    """

    output: TokenCheck | None
    """Of answers in text alone. A text cut into tokens again may give a few more or fewer than were
    generated, and servers count the token that ends an answer."""
    prompt: TokenCheck | None
    """Of prompts in text alone. A chat template's own tokens, which only the server knows, come on
    top of a chat's."""


class Client(Struct):
    """Whether the client kept up; the latencies of one that did not are its own too."""

    processes: int
    cpu_share: float
    """Of one core, by the busiest process."""
    is_bottleneck: bool
    because: str
    connections_opened: int
    peak_in_flight: int
    peak_memory_mib: float


class ModelUsed(Struct):
    """One model's part, by the name that answered."""

    requests: int
    share: float
    output_tokens: int
    ttft_ms: Distribution | None
    e2e_ms: Distribution | None
    usd: float | None


class Group(Struct):
    """One part of a mix: a team, a priority, or a team at a priority."""

    requests: int
    failed: int
    ttft_ms: Distribution | None
    e2e_ms: Distribution | None


class ErrorKind(Struct):
    """Failures of one kind."""

    count: int
    example: str


class Result(Struct, kw_only=True):
    """A run's figures. Latencies count from the intended send time."""

    schema_version: int = SCHEMA_VERSION
    started_at: str
    """UTC, ISO 8601."""
    duration_s: float
    was_stopped: bool
    """Whether Ctrl-C ended it early."""
    spec: dict[str, Any]
    environment: dict[str, Any]
    requests: Counts
    rates: Rates
    ttft_ms: Distribution | None
    itl_ms: Distribution | None
    """Of the gaps between chunks with content, all requests together."""
    tpot_ms: Distribution | None
    e2e_ms: Distribution | None
    normalized_latency_ms_per_token: Distribution | None
    output_tps: Distribution | None
    """Per request, while it streams: the metric `output_tps`. The system's is in `rates`."""
    send_delay_ms: Distribution | None
    """Sent later than intended: the client's own delay."""
    input_tokens: Distribution | None
    output_tokens: Distribution | None
    goodput: Goodput | None
    cost: Cost | None
    prefix_cache: PrefixCache | None
    models: dict[str, ModelUsed]
    usage_check: UsageCheck | None = None
    """Null without `--tokenizer`, and where no answer told its usage."""
    groups: dict[str, Group] = {}
    """By `team@priority`, as in the workload's mix; empty without a mix."""
    errors: dict[str, ErrorKind]
    client: Client
    notes: list[str]
    """What a reader must know, such as a clock that was set during the run."""
