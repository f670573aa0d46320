"""One model on offer: `user_config.models.<public name>`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from turnout.config.base import Name, Settings
from turnout.config.upstream_settings import UPSTREAM, UpstreamSettings

Market = Literal["reserved", "on_demand", "spot"]
Capability = Literal[
    "chat", "completions", "embeddings", "tools", "json_schema", "logprobs", "vision"
]


class Price(Settings):
    """What a model's tokens cost a team, in US dollars per million tokens."""

    input_usd_per_million_tokens: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Price of prompt tokens."
    )
    output_usd_per_million_tokens: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Price of generated tokens."
    )


class Overflow(Settings):
    """Another model that takes new requests while this one is saturated."""

    to: Name = Field(
        description=(
            "The model; it answers callers who may use it, at its own price, what it is capable of."
        )
    )
    at: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description=(
            "Saturation from which it does: requests running and waiting, as a share of the places "
            "of this model's replicas. Above 1 some wait first."
        ),
    )


class ModelSettings(Settings):
    """How the gateway offers one model: where it runs, what it can do, what it costs."""

    application: Name | None = Field(
        default=None,
        description="Serve application that hosts the model's pools; `upstream` has none.",
    )
    upstream: UpstreamSettings | None = Field(
        default=None,
        description="Or the endpoint elsewhere that answers, instead of `application` and `pools`.",
    )
    tier: Name | None = Field(
        default=None,
        description=(
            "Place in the router's cost order (`router.tiers`); a model that is only for "
            "embeddings has none, and an upstream without one is never picked by `auto`."
        ),
    )
    pools: tuple[Market, ...] = Field(
        default=(), description="Markets requests may be sent to, preferred one first."
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
    fallbacks: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Models that answer instead when no replica of this one can, first one first; each at "
            "its own price, for callers who may use it and requests it is capable of."
        ),
    )
    overflow: Overflow | None = Field(
        default=None, description="Where new requests go while this model is saturated."
    )
    max_queued_requests: int = Field(
        default=1000,
        ge=0,
        strict=True,
        description=(
            "Requests that may wait in each gateway for a place on the model's replicas; further "
            "ones are answered with 429, the least urgent first."
        ),
    )
    usd_per_replica_hour: dict[Market, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default={},
        description=(
            "What one replica's nodes cost per hour, by market; the true cost of a token is made "
            "of it, idle hours included. A market that is not listed costs nothing."
        ),
    )

    @property
    def markets(self) -> tuple[str, ...]:
        """Markets whose replicas answer: the pools, or the upstream's own."""
        return self.pools if self.upstream is None else (UPSTREAM,)

    @model_validator(mode="after")
    def _runs_in_one_place(self) -> Self:
        if self.upstream is None:
            missing = [name for name in ("application", "pools") if not getattr(self, name)]
            if missing:
                raise ValueError(
                    f"{' and '.join(missing)} missing: a model names the application that hosts "
                    "it and its pools, or an upstream"
                )
            return self
        ours = ("application", "pools", "usd_per_replica_hour")
        if extra := [name for name in ours if getattr(self, name)]:
            raise ValueError(
                f"{', '.join(extra)} of a model that an upstream serves: remove "
                f"{'it' if len(extra) == 1 else 'them'}, or the upstream"
            )
        return self

    @model_validator(mode="after")
    def _what_generates_has_a_tier(self) -> Self:
        generates = {"chat", "completions"} & set(self.capabilities)
        if generates and self.tier is None and self.upstream is None:
            raise ValueError(
                f"a model for {' and '.join(sorted(generates))} needs a tier: its place in the "
                "router's cost order"
            )
        if not generates and self.tier is not None:
            raise ValueError(
                f"tier '{self.tier}' is for models that chat or complete: remove it, or add chat "
                "or completions to the capabilities"
            )
        others = [*self.fallbacks, *([self.overflow.to] if self.overflow else [])]
        if "embeddings" in self.capabilities and others:
            raise ValueError(
                f"{'fallbacks' if self.fallbacks else 'overflow'} ({', '.join(others)}) of a model "
                "for embeddings: vectors of two models do not compare, remove them"
            )
        return self
