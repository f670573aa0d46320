"""The OpenAI requests the gateway takes: the fields it knows and their types. Pure.

Only types and ranges that OpenAI documents are checked here; everything else is the engine's to
judge. The OpenAPI page is generated from these models.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

T = TypeVar("T")
# Only the first wrong item is reported: a body of a million wrong ones would take a minute.
List = Annotated[list[T], Field(fail_fast=True)]
FilledList = Annotated[list[T], Field(min_length=1, fail_fast=True)]


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    """Stops at the first value that is no number: of a dict, pydantic would report every one."""
    if any(not isinstance(value, int | float) for value in values.values()):
        raise ValueError("every value must be a number")
    return values


Biases = Annotated[
    dict[str, Any],
    AfterValidator(_numbers),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "number"}}),
]
Int = Annotated[int, Field(ge=-(2**63), lt=2**63, strict=True)]
PositiveInt = Annotated[int, Field(gt=0, lt=2**31, strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]
NaturalInt = Annotated[int, Field(ge=0, lt=2**31, strict=True)]
Tokens = FilledList[NaturalInt]


class Message(BaseModel):
    """One chat message; what its parts may hold is the engine's to judge."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(strict=True)] = Field(description="Who speaks.")
    content: str | List[dict[str, Any]] | None = Field(default=None, description="What is said.")


class StreamOptions(BaseModel):
    """What a stream carries beside its tokens."""

    model_config = ConfigDict(extra="allow")

    include_usage: Flag | None = Field(default=None, description="Send usage in a last chunk.")


class Generation(BaseModel):
    """The fields that chat and text completions share."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(strict=True)] = Field(
        description='A model\'s name or alias, or "auto" to let the router pick.'
    )
    stream: Flag | None = Field(default=None, description="Answer as server-sent events.")
    stream_options: StreamOptions | None = Field(default=None, description="Only with stream.")
    max_tokens: PositiveInt | None = Field(default=None, description="Most tokens to generate.")
    n: PositiveInt | None = Field(default=None, description="How many answers.")
    stop: str | List[str] | None = Field(default=None, description="Texts that end the answer.")
    seed: Int | None = Field(default=None, description="Makes sampling repeatable.")
    temperature: Annotated[float, Field(ge=0, le=2, strict=True)] | None = Field(
        default=None, description="0 is greedy."
    )
    top_p: Annotated[float, Field(gt=0, le=1, strict=True)] | None = Field(
        default=None, description="Share of probability to sample from."
    )
    frequency_penalty: Number | None = Field(default=None, description="From -2 to 2.")
    presence_penalty: Number | None = Field(default=None, description="From -2 to 2.")
    logit_bias: Biases | None = Field(default=None, description="Token id to bias.")
    user: str | None = Field(default=None, description="The end user, for the caller's own use.")


class ChatCompletion(Generation):
    """`POST /v1/chat/completions`."""

    messages: FilledList[Message] = Field(description="The chat so far.")
    max_completion_tokens: PositiveInt | None = Field(
        default=None, description="Most tokens to generate (the newer name)."
    )
    logprobs: Flag | None = Field(default=None, description="Send token log probabilities.")
    top_logprobs: NaturalInt | None = Field(
        default=None, description="Alternatives per token; needs logprobs."
    )
    tools: List[dict[str, Any]] | None = Field(default=None, description="Tools on offer.")
    tool_choice: str | dict[str, Any] | None = Field(default=None, description="Which to call.")
    parallel_tool_calls: Flag | None = Field(default=None, description="Several calls at once.")
    response_format: dict[str, Any] | None = Field(
        default=None, description="`text`, `json_object` or a JSON schema."
    )
    reasoning_effort: str | None = Field(default=None, description="For models that reason.")
    metadata: dict[str, Any] | None = Field(default=None, description="Accepted, not stored.")
    store: Flag | None = Field(default=None, description="Accepted; nothing is stored.")
    service_tier: str | None = Field(default=None, description="Accepted, not used.")


class Completion(Generation):
    """`POST /v1/completions`."""

    prompt: str | List[str] | Tokens | List[Tokens] = Field(
        description="Text, texts, token ids, or lists of token ids."
    )
    max_tokens: NaturalInt | None = Field(
        default=None, description="Most tokens to generate; 0 with `echo` only judges the prompt."
    )
    best_of: PositiveInt | None = Field(default=None, description="Candidates to pick from.")
    echo: Flag | None = Field(default=None, description="Repeat the prompt in the answer.")
    logprobs: NaturalInt | None = Field(
        default=None, description="Log probabilities of this many tokens."
    )
    suffix: str | None = Field(default=None, description="Text after the answer.")


MOST_TEXTS = 2048
"""Of one request for embeddings (OpenAI's limit)."""


def _texts(value: Any) -> Any:
    """Says what is wrong with an input; pydantic would tell of one of the union's types only.

    Clients that send token ids learn why OpenAI's mean nothing to another model.
    """
    texts = value if isinstance(value, list) else [value]
    if not 0 < len(texts) <= MOST_TEXTS:
        raise ValueError(f"must be one to {MOST_TEXTS} texts, not {len(texts)}")
    if any(isinstance(text, int | list) and not isinstance(text, bool) for text in texts):
        raise ValueError(
            "send text: token ids are of one model's vocabulary, and clients take OpenAI's "
            "(langchain-openai: check_embedding_ctx_length=False)"
        )
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("must be a text or a list of texts")
    return value


class Embedding(BaseModel):
    """`POST /v1/embeddings`."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(strict=True)] = Field(
        description="A model's name or alias; not `auto`, for vectors of two models do not compare."
    )
    input: Annotated[
        str | Annotated[list[str], Field(min_length=1, max_length=MOST_TEXTS)],
        BeforeValidator(_texts),
    ] = Field(description="A text, or a list of texts.")
    encoding_format: Literal["float", "base64"] | None = Field(
        default=None, description="`float`, or `base64` of little-endian 32-bit floats."
    )
    dimensions: PositiveInt | None = Field(
        default=None, description="Shorter vectors, of models that were trained for them."
    )
    user: str | None = Field(default=None, description="The end user, for the caller's own use.")


Endpoint = Literal["chat", "completions", "embeddings"]
PATHS: dict[Endpoint, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
}
BODIES: dict[Endpoint, type[BaseModel]] = {
    "chat": ChatCompletion,
    "completions": Completion,
    "embeddings": Embedding,
}
PROMPTS: dict[Endpoint, str] = {"chat": "messages", "completions": "prompt", "embeddings": "input"}
"""The field that holds the prompt."""

# OpenAI fields that need no check of ours; deprecated ones included.
UNCHECKED_FIELDS = frozenset(
    (
        *("functions", "function_call", "modalities", "audio", "prediction"),
        *("web_search_options", "safety_identifier", "prompt_cache_key", "verbosity"),
    )
)
