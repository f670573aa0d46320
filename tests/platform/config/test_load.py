from pathlib import Path

import pytest

from turnout.config.errors import ConfigInvalid
from turnout.config.load import load

DEPLOYMENTS = Path(__file__).parents[3] / "deployments"


def test_an_encoder_without_a_trained_artifact_is_told_before_the_gateway_fails(
    tmp_path: Path,
) -> None:
    path = tmp_path / "minilm.yaml"
    local = (DEPLOYMENTS / "local.yaml").read_text()
    path.write_text(
        local.replace("tiers: [small, large]", "tiers: [small, large]\n            encoder: minilm")
    )
    with pytest.raises(ConfigInvalid) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert problem.path == "applications[0].deployments[0].user_config.router.encoder"
    assert problem.value == "minilm"
    assert "turnout-router train" in problem.message
