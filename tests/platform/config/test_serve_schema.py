"""Our lists of Serve's keys are those of the Serve that is installed."""

import pytest
from pydantic import BaseModel
from ray.serve import schema as serve
from ray.serve.config import AutoscalingConfig

from turnout.config.deployment_file import DeploymentFile, OtherApplication
from turnout.config.serve_schema import Autoscaling, HttpOptions, PlacedDeployment

DEPRECATED = {
    "metrics_interval_s",
    "smoothing_factor",
    "upscale_smoothing_factor",
    "downscale_smoothing_factor",
}


@pytest.mark.parametrize(
    ("ours", "theirs", "left_out"),
    [
        (DeploymentFile, serve.ServeDeploySchema, set()),
        # Serve itself refuses these two in a file with several applications.
        (OtherApplication, serve.ServeApplicationSchema, {"host", "port"}),
        (PlacedDeployment, serve.DeploymentSchema, set()),
        (HttpOptions, serve.HTTPOptionsSchema, set()),
        (Autoscaling, AutoscalingConfig, DEPRECATED),
    ],
)
def test_our_keys_are_serves_own(
    ours: type[BaseModel], theirs: type[BaseModel], left_out: set[str]
) -> None:
    assert set(ours.model_fields) == set(theirs.model_fields) - left_out
