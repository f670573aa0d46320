"""Anthropic's requests that the gateway takes: the fields it knows and their types. Pure.

What messages, tools and content blocks hold is checked where they are translated (`messages.py`).
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from turnout.gateway.api import FilledList, Flag, List, NaturalInt, PositiveInt


class AnthropicMessage(BaseModel):
    """One turn: text, or content blocks."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(strict=True)] = Field(description="`user` or `assistant`.")
    content: str | List[dict[str, Any]] = Field(
        description="Text, or blocks: text, image, tool_use, tool_result, thinking."
    )


class CountTokens(BaseModel):
    """`POST /v1/messages/count_tokens`: Anthropic's count of a prompt's tokens."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(strict=True)] = Field(
        description='A model\'s name or alias, or "auto" to let the router pick.'
    )
    messages: FilledList[AnthropicMessage] = Field(description="The chat so far.")
    system: str | List[dict[str, Any]] | None = Field(
        default=None, description="The system prompt: text, or text blocks."
    )
    tools: List[dict[str, Any]] | None = Field(
        default=None, description="Custom tools on offer; there are no server tools."
    )
    tool_choice: dict[str, Any] | None = Field(
        default=None, description="`auto`, `any`, `tool` with its name, or `none`."
    )
    thinking: dict[str, Any] | None = Field(
        default=None, description="Accepted; whether a model thinks is its own."
    )
    output_config: dict[str, Any] | None = Field(
        default=None, description="`format` takes a JSON schema; `effort` is for reasoning models."
    )
    cache_control: dict[str, Any] | None = Field(
        default=None, description="Accepted; prefixes are cached without it."
    )


class CreateMessage(CountTokens):
    """`POST /v1/messages`: Anthropic's Messages API."""

    max_tokens: PositiveInt = Field(description="Most tokens to generate.")
    stream: Flag | None = Field(default=None, description="Answer as server-sent events.")
    stop_sequences: List[str] | None = Field(default=None, description="Texts that end the answer.")
    temperature: Annotated[float, Field(ge=0, le=1, strict=True)] | None = Field(
        default=None, description="0 is greedy."
    )
    top_p: Annotated[float, Field(gt=0, le=1, strict=True)] | None = Field(
        default=None, description="Share of probability to sample from."
    )
    top_k: NaturalInt | None = Field(default=None, description="How many tokens to sample from.")
    metadata: dict[str, Any] | None = Field(
        default=None, description="`user_id` is the end user, for the caller's own use."
    )
    service_tier: str | None = Field(default=None, description="Accepted, not used.")
