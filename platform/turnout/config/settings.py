"""What the gateway reads from `user_config`: it may change while engines run.

Ray hands `user_config` to the running gateway replicas (`reconfigure`); no engine restarts.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnout_router.policy import RouterSettings

Market = Literal["reserved", "on_demand", "spot"]
Capability = Literal["chat", "completions", "tools", "json_schema", "logprobs", "vision"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$", max_length=128)]
AUTO = "auto"


class Settings(BaseModel):
    """Base of all settings: immutable, and a key nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Price(Settings):
    """What a model's tokens cost a team, in US dollars per million tokens."""

    input_usd_per_million_tokens: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Price of prompt tokens."
    )
    output_usd_per_million_tokens: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Price of generated tokens."
    )


class ModelSettings(Settings):
    """How the gateway offers one model: where it runs, what it can do, what it costs."""

    application: Name = Field(description="Serve application that hosts the model's pools.")
    tier: Name = Field(description="Place in the router's cost order (`router.tiers`).")
    pools: tuple[Market, ...] = Field(
        min_length=1, description="Markets requests may be sent to, preferred one first."
    )
    aliases: tuple[Name, ...] = Field(
        default=(), description="Further public names that clients may ask for."
    )
    capabilities: tuple[Capability, ...] = Field(
        default=("chat", "completions"),
        min_length=1,
        description="What requests the model may get; others go to a model that can.",
    )
    price: Price = Field(default=Price(), description="What the model's tokens cost a team.")


class Limits(Settings):
    """Bounds the gateway puts on every request."""

    max_body_bytes: int = Field(
        default=4 * 1024 * 1024,
        gt=0,
        strict=True,
        description="Largest request body in bytes; a larger one is answered with 413.",
    )
    connect_timeout_s: float = Field(
        default=2.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds to wait for a connection to a replica before trying another.",
    )
    request_timeout_s: float = Field(
        default=600.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds one request may take from its first byte in to its last byte out.",
    )
    retry_after_s: int = Field(
        default=5,
        gt=0,
        strict=True,
        description="Seconds a client is told to wait (Retry-After) when no replica is ready.",
    )

    @model_validator(mode="after")
    def _connects_within_the_request(self) -> Self:
        if self.connect_timeout_s > self.request_timeout_s:
            raise ValueError(
                f"connect_timeout_s ({self.connect_timeout_s:g}) is above request_timeout_s "
                f"({self.request_timeout_s:g}): make it at most {self.request_timeout_s:g}"
            )
        return self


class GatewaySettings(Settings):
    """The gateway's `user_config`: models, router, limits. Changing it restarts no engine."""

    models: dict[Name, ModelSettings] = Field(
        min_length=1, description="Models on offer, by the public name clients ask for."
    )
    router: RouterSettings | None = Field(
        default=None,
        description='How `model: "auto"` picks a model; without it `auto` is not offered.',
    )
    limits: Limits = Field(default=Limits(), description="Bounds on every request.")
    transport: Literal["direct", "handle"] = Field(
        default="direct",
        description=(
            "How requests reach replicas: `direct` streams from a replica's own port where it can "
            "be reached; `handle` always goes through Ray Serve."
        ),
    )
    engine_fields: tuple[str, ...] = Field(
        default=(),
        description=(
            "Request fields beyond OpenAI's that pass through to the engine (an allow-list), "
            "such as `top_k` or `min_p`; others are answered with 400."
        ),
    )
