"""OpenAI's Responses requests that the gateway takes: the fields it knows and their types. Pure.

A stateless subset: nothing is stored, and there are no tools but the caller's own functions. Fields
that ask for more are known by name, so that the error can say what is missing
(`responses.REFUSED`).
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from turnout.gateway.api import Flag, List, PositiveInt


class CreateResponse(BaseModel):
    """`POST /v1/responses`: OpenAI's Responses API, stateless."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(strict=True)] = Field(
        description='A model\'s name or alias, or "auto" to let the router pick.'
    )
    input: str | List[dict[str, Any]] = Field(
        description="Text, or the whole conversation as items: message, function_call, "
        "function_call_output, reasoning."
    )
    instructions: str | None = Field(default=None, description="The system prompt.")
    tools: List[dict[str, Any]] | None = Field(
        default=None, description="Functions on offer; there are no built-in tools."
    )
    tool_choice: str | dict[str, Any] | None = Field(default=None, description="Which to call.")
    parallel_tool_calls: Flag | None = Field(default=None, description="Several calls at once.")
    max_output_tokens: PositiveInt | None = Field(
        default=None, description="Most tokens to generate."
    )
    temperature: Annotated[float, Field(ge=0, le=2, strict=True)] | None = Field(
        default=None, description="0 is greedy."
    )
    top_p: Annotated[float, Field(gt=0, le=1, strict=True)] | None = Field(
        default=None, description="Share of probability to sample from."
    )
    text: dict[str, Any] | None = Field(
        default=None, description="`format`: text, json_object or json_schema."
    )
    reasoning: dict[str, Any] | None = Field(
        default=None, description="`effort`, for models that reason."
    )
    stream: Flag | None = Field(default=None, description="Answer as server-sent events.")
    stream_options: dict[str, Any] | None = Field(default=None, description="Accepted, not used.")
    metadata: dict[str, Any] | None = Field(default=None, description="Given back, not stored.")
    include: List[str] | None = Field(
        default=None, description="Only `reasoning.encrypted_content`, of which there is none."
    )
    truncation: str | None = Field(default=None, description="Only `disabled`.")
    store: Flag | None = Field(default=None, description="Only false: nothing is stored.")
    background: Flag | None = Field(default=None, description="Only false.")
    user: str | None = Field(default=None, description="The end user, for the caller's own use.")
    safety_identifier: str | None = Field(default=None, description="Accepted, not used.")
    service_tier: str | None = Field(default=None, description="Accepted, not used.")
    prompt_cache_key: str | None = Field(default=None, description="Accepted, not used.")
    prompt_cache_retention: str | None = Field(default=None, description="Accepted, not used.")
    max_tool_calls: PositiveInt | None = Field(
        default=None, description="Accepted: it bounds built-in tools only."
    )
