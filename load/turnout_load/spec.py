"""What a run is told to do: frozen, serializable, and written into its result.

Durations are seconds; lengths are tokens. Texts such as `lognormal:mean=512,sd=200` are parsed by
the workload's own modules, which name the text and what it may be when they refuse it.
"""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every part: immutable, by keyword, and no unknown field passes."""


class Target(Struct, frozen=True):
    """Where requests go. The key is read from the environment or a file, and never stored."""

    url: str
    """The OpenAI base URL, such as `http://127.0.0.1:8000/v1`."""
    model: str
    endpoint: str = "chat"
    """`chat` or `completions`."""
    stream: bool = True
    headers: dict[str, str] = {}
    """More headers; their values are kept out of results."""
    api_key_env: str = "OPENAI_API_KEY"
    api_key_file: str | None = None
    ca_file: str | None = None
    """Certificates to trust; else those of `SSL_CERT_FILE`, or the system's."""
    request_timeout_s: float = 600.0
    """Longest time for one request, from its first byte sent."""
    stall_timeout_s: float = 120.0
    """Longest silence of a server that owes an answer."""


class Workload(Struct, frozen=True):
    """What is sent, and when."""

    arrivals: str = "constant"
    """`constant`, `poisson`, `gamma`, `ramp`, `steps`, or `closed` (users that wait)."""
    rate: float = 1.0
    """Conversations a second; a ramp's start. With `closed`, not used."""
    burstiness: float = 1.0
    """Coefficient of variation of gaps, of `gamma`, `ramp` and `steps`: 1 is Poisson, 0 is even."""
    ramp_to: float | None = None
    """A ramp's last rate, reached at the run's end."""
    steps: tuple[float, ...] = ()
    """Rates of `steps`, each held for an equal share of the run."""
    users: int = 1
    """Users of a closed loop."""
    dataset: str | None = None
    """A file of conversations; None makes synthetic text."""
    dataset_format: str = "auto"
    """`auto`, `chat` (JSONL of messages), `sharegpt`, or `log` (our own request log)."""
    skip: int = 0
    """Conversations left out at the beginning, so that a later run goes on where one ended."""
    trace: str | None = None
    """A trace to replay: `azure:PATH`, `mooncake:PATH`, `burstgpt:PATH`, or a `log:PATH`."""
    speed: float = 1.0
    """How many times faster than recorded a trace is replayed."""
    input_tokens: str = "fixed:128"
    """Lengths of synthetic prompts: `fixed:N`, `normal:mean=,sd=`, `lognormal:mean=,sd=`,
    `uniform:low=,high=` or `histogram:PATH`, each also with `,min=,max=`."""
    output_tokens: str | None = None
    """`max_tokens` of each request; None takes the dataset's, else 64 for synthetic text."""
    exact_output: bool = False
    """Asks for exactly that many tokens (`ignore_eos`, which vLLM knows)."""
    turns: str = "fixed:1"
    """Turns of a synthetic conversation."""
    think_time_s: str = "fixed:0"
    """Waits between its turns; also for datasets that record none."""
    history: str = "recorded"
    """What later turns hold: the dataset's `recorded` answers, or the server's own (`live`)."""
    shared_prefix_tokens: int = 0
    """Tokens of system prompt that every synthetic conversation begins with."""
    mix: str | None = None
    """Shares of teams and priorities, as `search=0.7,batch@5=0.3`."""
    tokenizer: str | None = None
    """A tokenizer.json that makes synthetic lengths exact, and that usage is checked by."""


class Spec(Struct, frozen=True):
    """One run."""

    target: Target
    workload: Workload = Workload()
    duration_s: float | None = None
    """How long requests are started; those under way are waited for."""
    requests: int | None = None
    """How many conversations are started."""
    warm_up_s: float = 0.0
    """Requests intended before it are sent and left out of every figure."""
    seed: int = 0
    processes: int = 1
    slo: tuple[str, ...] = ()
    """What a request must meet to count as goodput, such as `ttft<500ms`."""
    price: dict[str, str] = {}
    """USD per million tokens by model, as `input/output`, such as `0.10/0.20`; `*` for any."""
    node_usd_per_hour: float | None = None
    """What the measured deployment costs an hour: the other way to a price."""
    max_connections: int = 10_000
    """Most connections of each process; further requests wait, and count as late."""
    ray: str | None = None
    """Address of a Ray cluster whose nodes send, such as `auto`; else this machine does."""
