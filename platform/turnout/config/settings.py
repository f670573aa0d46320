"""What the gateway reads from `user_config`: it may change while engines run.

Ray hands `user_config` to the running gateway replicas (`reconfigure`); no engine restarts.
"""

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from turnout.config.base import Name, Settings
from turnout.config.batch_settings import BatchSettings
from turnout.config.media_host import MediaHost
from turnout.config.model_settings import Capability, Market, ModelSettings, Price
from turnout_router.policy import RouterSettings

__all__ = [
    "AUTO",
    "GATEWAY_FIELDS",
    "AccessSettings",
    "AdminSettings",
    "Capability",
    "Failover",
    "GatewaySettings",
    "LimiterSettings",
    "Limits",
    "Market",
    "ModelSettings",
    "Name",
    "Price",
    "Settings",
]
AUTO = "auto"
GATEWAY_FIELDS = frozenset(
    (
        *("cache_salt", "ec_transfer_params", "kv_transfer_params", "priority", "request_id"),
        "vllm_xargs",
    )
)
"""Engine fields that no client may set: they reach other callers' work, or the gateway reads what
they shape."""


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
    body_timeout_s: float = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds until a request body must be whole; a slower one is answered 408.",
    )
    request_timeout_s: float = Field(
        default=600.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds an answer may take, once the request is whole, to its last byte out.",
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


class Failover(Settings):
    """What the gateway does about replicas that fail, and about those that are slow to begin."""

    max_attempts: int = Field(
        default=3,
        ge=1,
        strict=True,
        description="Replicas that one request may fail on in a row before its client is told.",
    )
    retry_share: float = Field(
        default=0.2,
        ge=0,
        allow_inf_nan=False,
        description="Retries allowed as a share of the last ten seconds' requests.",
    )
    retries_per_s: float = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=False,
        description="Retries allowed per second beside that share.",
    )
    wait_for_replica_s: float = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=False,
        description=(
            "Seconds a request waits for a replica of its model when none is left, before 503; "
            "raise it to the time a model takes to start where models scale to zero."
        ),
    )
    heartbeat_s: float = Field(
        default=3.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds between the SSE comments that a waiting stream is sent.",
    )
    stall_timeout_s: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds without a byte after which a stream that had begun goes on elsewhere.",
    )
    resumes_streams: bool = Field(
        default=True,
        strict=True,
        description="Whether a stream that breaks off goes on on another replica.",
    )
    asks_token_ids: bool = Field(
        default=True,
        strict=True,
        description=(
            "Whether streams ask their engine for token ids, to resume and meter them exactly; "
            "clients do not see them."
        ),
    )
    hedge_share: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description=(
            "Second requests allowed, as a share of all, when a stream's first token comes later "
            "than that of 95 in 100 recent ones; 0 turns them off."
        ),
    )


class LimiterSettings(Settings):
    """Where the account of rates, running requests and budgets is kept."""

    backend: Literal["memory", "redis"] = Field(
        default="memory",
        description=(
            "`memory` is right for one gateway replica; several share one account in Redis or "
            "Valkey, at the address in the environment variable REDIS_URL."
        ),
    )
    max_subjects: int = Field(
        default=100_000,
        ge=16,
        strict=True,
        description="Keys and teams kept in memory; above it those whose limits are full again go.",
    )
    store_timeout_s: float = Field(
        default=0.2,
        ge=0,
        allow_inf_nan=False,
        description="Seconds a key's first request waits for what the database says it has spent.",
    )
    redis_timeout_s: float = Field(
        default=0.05,
        gt=0,
        allow_inf_nan=False,
        description="Seconds to wait for Redis before limits are kept in memory for a while.",
    )
    lease_s: float = Field(
        default=30.0,
        ge=1,
        allow_inf_nan=False,
        description="Seconds until Redis frees the running requests of a gateway that died.",
    )


class AccessSettings(Settings):
    """How the gateway checks keys; the keys themselves are made with `turnout keys`."""

    fresh_s: float = Field(
        default=5.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds after which a change to a key or team (a revocation) holds.",
    )
    stale_s: float = Field(
        default=86_400.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds that a known key keeps working while the database is away.",
    )
    lookup_timeout_s: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds to wait for the database when a key is not known or not fresh.",
    )
    max_known_keys: int = Field(
        default=10_000,
        ge=1024,
        strict=True,
        description="Keys a gateway remembers; those used least recently are asked for again.",
    )


LEAST_USAGE_DAYS = 32


class AdminSettings(Settings):
    """The `user_config` of the admin API's deployment: where it listens, what it keeps."""

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address of the admin API's own listener; keep it off public networks.",
    )
    port: int = Field(
        default=8001, ge=1, le=65_535, strict=True, description="Port of that listener."
    )
    usage_days: int | None = Field(
        default=None,
        ge=LEAST_USAGE_DAYS,
        strict=True,
        description="Usage records and pools' hours older than so many days are deleted; by "
        "default none are. At least 32: budgets of a month are sums of them.",
    )


class GatewaySettings(Settings):
    """The gateway's `user_config`: models, router, limits. Changing it restarts no engine."""

    # Serve logs what is wrong with them: a key written by mistake is not to be in there.
    model_config = ConfigDict(hide_input_in_errors=True)

    models: dict[Name, ModelSettings] = Field(
        min_length=1, description="Models on offer, by the public name clients ask for."
    )
    router: RouterSettings | None = Field(
        default=None,
        description='How `model: "auto"` picks a model; without it `auto` is not offered.',
    )
    limits: Limits = Field(default=Limits(), description="Bounds on every request.")
    failover: Failover = Field(
        default=Failover(), description="What is done about replicas that fail."
    )
    keys: Literal["required", "off"] = Field(
        default="required",
        description=(
            "`required` answers only requests with a key made by `turnout keys`; `off` answers "
            "everyone who can reach the gateway."
        ),
    )
    access: AccessSettings = Field(default=AccessSettings(), description="How keys are checked.")
    limiter: LimiterSettings = Field(
        default=LimiterSettings(), description="Where keys' and teams' limits are kept."
    )
    batches: BatchSettings | None = Field(
        default=BatchSettings(), description="Files and batches; null turns them off."
    )
    database: Literal["sqlite", "postgresql"] = Field(
        default="sqlite",
        description=(
            "Where keys, teams and usage are kept: a SQLite file serves one gateway replica; for "
            "several, PostgreSQL at the address in the environment variable DATABASE_URL."
        ),
    )
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
            "such as `top_k` or `min_p`; others are answered with 400. Never those that are the "
            "gateway's own: "
            f"{', '.join(f'`{name}`' for name in sorted(GATEWAY_FIELDS))}."
        ),
    )
    cache_salt: Literal["team", "off"] = Field(
        default="team",
        description=(
            "`team` lets engines share cached prompts within a team only (vLLM's `cache_salt`), so "
            "that no team can time what another asked; `off` for engines that do not know it."
        ),
    )
    media_hosts: tuple[MediaHost, ...] = Field(
        default=(),
        description=(
            "Hosts that engines may fetch media from: names, or public addresses. Others' URLs in "
            "messages are answered with 400; data: URLs are always taken."
        ),
    )

    @model_validator(mode="after")
    def _engine_fields_are_clients(self) -> Self:
        if ours := GATEWAY_FIELDS.intersection(self.engine_fields):
            raise ValueError(
                f"engine_fields: {', '.join(sorted(ours))} may not be set by clients: take it out"
            )
        return self

    @model_validator(mode="after")
    def _fallbacks_are_models(self) -> Self:
        for name, model in self.models.items():
            for other in model.fallbacks:
                if other not in self.models or other == name:
                    raise ValueError(
                        f"model '{name}': fallback '{other}' is no other model of this gateway: "
                        f"{', '.join(self.models)}"
                    )
        return self

    @model_validator(mode="after")
    def _overflows_are_models(self) -> Self:
        for name, model in self.models.items():
            to = model.overflow.to if model.overflow else None
            if to is not None and (to not in self.models or to == name):
                raise ValueError(
                    f"model '{name}': overflow.to '{to}' is no other model of this gateway: "
                    f"{', '.join(self.models)}"
                )
        return self
