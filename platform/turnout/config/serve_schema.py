"""The parts of Serve's own schema that a config file may use.

Serve ignores a key it does not know; here it is a mistake. What only Serve reads is passed
through as it is and checked by Serve's own schema in the deep check.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from turnout.config.model_args import Count
from turnout.config.settings import Settings

AnyPort = Annotated[int, Field(ge=1, le=65535, strict=True)]
Replicas = Annotated[int, Field(ge=0, strict=True)]
Passed = Any
"""A value that Serve reads and we do not."""


def passed(description: str) -> Any:
    """Makes an optional field that is Serve's own business."""
    return Field(default=None, description=f"{description} Serve's own setting.")


class HttpOptions(Settings):
    """Where Serve's proxy listens."""

    host: str = Field(
        default="0.0.0.0",
        description="Address the proxy listens on; `127.0.0.1` keeps it on this machine.",
    )
    port: AnyPort = Field(default=8000, description="Port of the proxy: the product's one URL.")
    root_path: Passed = passed("Path prefix an outer proxy takes off.")
    request_timeout_s: Passed = passed("Seconds after which the proxy ends a request.")
    keep_alive_timeout_s: Passed = passed("Seconds an idle connection is kept.")
    ssl_keyfile: Passed = passed("TLS key file.")
    ssl_certfile: Passed = passed("TLS certificate file.")
    ssl_keyfile_password: Passed = passed("Password of the TLS key.")
    ssl_ca_certs: Passed = passed("TLS certificate authorities.")


class Autoscaling(Settings):
    """Replica bounds. Serve applies a change to running replicas; none restarts."""

    min_replicas: Replicas = Field(default=1, description="Fewest replicas.")
    max_replicas: Count = Field(default=1, description="Most replicas.")
    initial_replicas: Replicas | None = Field(
        default=None, description="Replicas to start with; `min_replicas` when absent."
    )
    target_ongoing_requests: Passed = passed("Requests per replica to aim at.")
    look_back_period_s: Passed = passed("Seconds that measurements are averaged over.")
    upscaling_factor: Passed = passed("Gain of decisions to grow.")
    downscaling_factor: Passed = passed("Gain of decisions to shrink.")
    upscale_delay_s: Passed = passed("Seconds to wait before growing.")
    downscale_delay_s: Passed = passed("Seconds to wait before shrinking.")
    downscale_to_zero_delay_s: Passed = passed("Seconds to wait before the last replica goes.")
    aggregation_function: Passed = passed("How measurements become one number.")
    policy: Passed = passed("Scaling policy to use instead of Serve's.")

    @model_validator(mode="after")
    def _minimum_below_maximum(self) -> Self:
        if self.min_replicas > self.max_replicas:
            raise ValueError(
                f"min_replicas ({self.min_replicas}) is above max_replicas "
                f"({self.max_replicas}): lower the minimum or raise the maximum"
            )
        first = self.initial_replicas
        if first is not None and not self.min_replicas <= first <= self.max_replicas:
            raise ValueError(
                f"initial_replicas ({first}) is outside min_replicas ({self.min_replicas}) to "
                f"max_replicas ({self.max_replicas})"
            )
        return self


class Deployment(Settings):
    """Options of one Serve deployment."""

    name: str = Field(min_length=1, description="Name of the deployment.")
    num_replicas: Count | Literal["auto"] | None = Field(
        default=None, description="Fixed number of replicas, or `auto` (1 to 100 by load)."
    )
    autoscaling_config: Autoscaling | None = Field(
        default=None, description="Bounds within which the number of replicas moves."
    )
    max_ongoing_requests: Passed = passed("Requests a replica takes at once.")
    max_queued_requests: Passed = passed("Requests a caller queues.")
    backpressure_config: Passed = passed("Answer to a request beyond the queue.")
    graceful_shutdown_wait_loop_s: Passed = passed("Seconds between looks for remaining work.")
    graceful_shutdown_timeout_s: Passed = passed("Seconds a stopping replica may finish work in.")
    health_check_period_s: Passed = passed("Seconds between health checks.")
    health_check_timeout_s: Passed = passed("Seconds a health check may take.")
    max_replicas_per_node: Passed = passed("Most replicas on one node.")
    logging_config: Passed = passed("Logging of the deployment.")
    request_router_config: Passed = passed("How Serve picks a replica.")
    gang_scheduling_config: Passed = passed("Replicas that start only together.")
    deployment_actors: Passed = passed("Actors shared by all replicas.")
    rolling_update_percentage: Passed = passed("Fraction of replicas an update takes at a time.")
    max_surge_percent: Passed = passed("Extra replicas during an update, in percent.")

    @model_validator(mode="after")
    def _one_way_to_count(self) -> Self:
        if isinstance(self.num_replicas, int) and self.autoscaling_config is not None:
            raise ValueError(
                f"num_replicas ({self.num_replicas}) and autoscaling_config exclude each other: "
                "keep one"
            )
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        """Fewest and most replicas."""
        if self.autoscaling_config is not None:
            return self.autoscaling_config.min_replicas, self.autoscaling_config.max_replicas
        if self.num_replicas == "auto":
            return 1, 100  # Serve's defaults for `auto`
        return self.num_replicas or 1, self.num_replicas or 1


class PlacedDeployment(Deployment):
    """Options of a deployment whose place and settings Turnout does not decide."""

    user_config: Passed = passed("Settings handed to running replicas.")
    ray_actor_options: Passed = passed("Resources of a replica's process.")
    placement_group_bundles: Passed = passed("Resource bundles of a replica.")
    placement_group_strategy: Passed = passed("How the bundles lie over nodes.")
    placement_group_bundle_label_selector: Passed = passed("Labels a bundle's node must have.")


class Application(Settings):
    """Options every Serve application has."""

    name: str = Field(min_length=1, description="Name of the application, once per file.")
    runtime_env: Passed = passed("Files, packages and variables of the application's processes.")
    autoscaling_policy: Passed = passed("Scaling policy over all deployments.")
    logging_config: Passed = passed("Logging of the application.")
    external_scaler_enabled: bool = Field(
        default=False, description="Whether another program sets the numbers of replicas."
    )
