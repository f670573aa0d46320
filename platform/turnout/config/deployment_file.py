"""The whole file: Serve's schema, with our reading of the gateway and of the models."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from turnout.config.embedding_args import EmbeddingArgs
from turnout.config.model_args import ModelArgs
from turnout.config.serve_schema import (
    Application,
    Deployment,
    HttpOptions,
    Passed,
    PlacedDeployment,
    passed,
)
from turnout.config.settings import AdminSettings, GatewaySettings, Market, Settings

GATEWAY_BUILDER = "turnout_deployments.gateway:build"
MODEL_BUILDER = "turnout_deployments.model:build"
EMBEDDING_BUILDER = "turnout_deployments.embedding:build"


class GatewayDeployment(Deployment):
    """The gateway's replicas and their settings."""

    name: Literal["Gateway"] = Field(description="Always `Gateway`.")
    user_config: GatewaySettings = Field(description="The gateway's settings.")
    ray_actor_options: Passed = passed("Resources of a gateway replica.")

    @model_validator(mode="after")
    def _several_share_what_they_count(self) -> Self:
        _, most = self.bounds
        settings = self.user_config
        if most > 1 and settings.database == "sqlite":
            raise ValueError(
                f"up to {most} gateway replicas, but database: sqlite serves one: set "
                "user_config.database to postgresql (and DATABASE_URL)"
            )
        if most > 1 and settings.limiter.backend == "memory":
            raise ValueError(
                f"up to {most} gateway replicas, but limiter.backend: memory counts in each "
                "alone: set user_config.limiter.backend to redis (and REDIS_URL)"
            )
        if most > 1 and settings.batches is not None and settings.batches.folder is None:
            raise ValueError(
                f"up to {most} gateway replicas, but batches: {{folder: null}} is a folder of "
                "each machine's own: set user_config.batches.folder to one that all of them mount "
                "(or batches: null)"
            )
        return self


class AdminDeployment(Deployment):
    """The admin API: one replica with a listener of its own."""

    name: Literal["Admin"] = Field(description="Always `Admin`.")
    user_config: AdminSettings = Field(
        default=AdminSettings(), description="Where the admin API listens."
    )
    ray_actor_options: Passed = passed("Resources of the admin API's replica.")

    @model_validator(mode="after")
    def _runs_once(self) -> Self:
        if self.bounds != (1, 1):
            raise ValueError("the admin API runs once: leave its replica bounds out")
        return self


def _gateway_entry(entry: object) -> str:
    """Says whether an entry of the gateway's `deployments` is the gateway or the admin API."""
    name = entry.get("name") if isinstance(entry, Mapping) else getattr(entry, "name", None)
    return "admin" if name == "Admin" else "gateway"


GatewayEntry = Annotated[
    Annotated[GatewayDeployment, Tag("gateway")] | Annotated[AdminDeployment, Tag("admin")],
    Discriminator(_gateway_entry),
]


class GatewayArgs(Settings):
    """The gateway takes no `args`: all it has is `user_config`, which changes without a restart."""


class GatewayApplication(Application):
    """The application that answers clients."""

    import_path: Literal["turnout_deployments.gateway:build"] = Field(
        description="Builds the gateway."
    )
    route_prefix: str | None = Field(default="/", description="Path the gateway answers under.")
    args: GatewayArgs = Field(default=GatewayArgs(), description="Empty: see `user_config`.")
    deployments: tuple[GatewayEntry, ...] = Field(
        min_length=1,
        max_length=2,
        description="The `Gateway` deployment, then `Admin` where its listener is not the default.",
    )

    @model_validator(mode="after")
    def _gateway_comes_first(self) -> Self:
        names = [deployment.name for deployment in self.deployments]
        if names not in (["Gateway"], ["Gateway", "Admin"]):
            raise ValueError(
                f"deployments are {', '.join(names)}: write Gateway, then Admin or none"
            )
        return self

    @property
    def gateway(self) -> GatewayDeployment:
        """The gateway's own deployment."""
        first = self.deployments[0]
        assert isinstance(first, GatewayDeployment)  # as checked above
        return first

    @property
    def admin(self) -> AdminSettings:
        """Where the admin API listens."""
        found = [each for each in self.deployments if isinstance(each, AdminDeployment)]
        return found[0].user_config if found else AdminSettings()


class PoolDeployment(Deployment):
    """Replica bounds of one pool; write them as `autoscaling_config` from the start.

    Changed bounds restart no engine. Going from `num_replicas` to `autoscaling_config` or back
    does: Ray hashes the list of autoscaling policies along with the `args`.
    """

    name: Market = Field(description="The pool's market.")


class HostApplication(Application):
    """An application that hosts one model's pools."""

    route_prefix: None = Field(description="Always null: clients reach a model by the gateway.")
    deployments: tuple[PoolDeployment, ...] = Field(
        default=(), description="Replica bounds by pool; a pool without an entry has one replica."
    )

    def bounds(self, market: Market) -> tuple[int, int]:
        """Fewest and most replicas of one pool."""
        by_market = {deployment.name: deployment.bounds for deployment in self.deployments}
        return by_market.get(market, (1, 1))


class ModelApplication(HostApplication):
    """The application that hosts one model's engines."""

    import_path: Literal["turnout_deployments.model:build"] = Field(
        description="Builds a model's pools."
    )
    args: ModelArgs = Field(description="What shapes the model's engines.")


class EmbeddingApplication(HostApplication):
    """The application that hosts one embedding model's replicas."""

    import_path: Literal["turnout_deployments.embedding:build"] = Field(
        description="Builds an embedding model's pools."
    )
    args: EmbeddingArgs = Field(description="What shapes the model's replicas.")


class OtherApplication(Application):
    """A Serve application that is not Turnout's: passed through."""

    import_path: str = Field(
        description="Import path of the application's builder.",
        json_schema_extra={"not": {"enum": [GATEWAY_BUILDER, MODEL_BUILDER, EMBEDDING_BUILDER]}},
    )
    route_prefix: str | None = Field(default="/", description="Path the application answers under.")
    args: dict[str, Any] = Field(default_factory=dict, description="The builder's arguments.")
    deployments: tuple[PlacedDeployment, ...] = Field(
        default=(), description="Options of its deployments."
    )


def kind_of(application: object) -> str:
    """Says whether an application is the `gateway`, a `model`, an `embedding` or an `other` one."""
    kinds = {GATEWAY_BUILDER: "gateway", MODEL_BUILDER: "model", EMBEDDING_BUILDER: "embedding"}
    path = application.get("import_path") if isinstance(application, Mapping) else None
    return kinds.get(path, "other") if isinstance(path, str) else "other"


AnyApplication = Annotated[
    Annotated[GatewayApplication, Tag("gateway")]
    | Annotated[ModelApplication, Tag("model")]
    | Annotated[EmbeddingApplication, Tag("embedding")]
    | Annotated[OtherApplication, Tag("other")],
    Discriminator(kind_of),
]


class DeploymentFile(Settings):
    """One deployment: what `serve deploy` takes, the gateway and the models in it."""

    applications: tuple[AnyApplication, ...] = Field(
        min_length=1, description="The gateway, and one application per model."
    )
    http_options: HttpOptions = Field(
        default=HttpOptions(), description="Where Serve's proxy listens."
    )
    proxy_location: Passed = passed("Nodes that get a proxy.")
    grpc_options: Passed = passed("The gRPC proxy.")
    controller_options: Passed = passed("The Serve controller.")
    logging_config: Passed = passed("Logging of Serve itself.")
    tracing_config: Passed = passed("Tracing of Serve itself.")
    target_capacity: Passed = passed("Percentage of all replica bounds to run.")

    @property
    def gateway(self) -> GatewayApplication:
        """The gateway's application."""
        return next(app for app in self.applications if isinstance(app, GatewayApplication))

    @property
    def settings(self) -> GatewaySettings:
        """The gateway's settings."""
        return self.gateway.gateway.user_config

    @property
    def models(self) -> tuple[ModelApplication, ...]:
        """The applications of models that vLLM runs, in the file's order."""
        return tuple(app for app in self.applications if isinstance(app, ModelApplication))

    @property
    def embeddings(self) -> tuple[EmbeddingApplication, ...]:
        """The embedding models' applications, in the file's order."""
        return tuple(app for app in self.applications if isinstance(app, EmbeddingApplication))
