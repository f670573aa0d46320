"""The gateway's own deployments: how many replicas, and where the admin API listens."""

from __future__ import annotations

import pytest
from tests.platform.config.mistakes import only_problem, problems_of

from turnout.config.deployment_file import DeploymentFile
from turnout.config.document import parse

GATEWAY = "      - name: Gateway\n"
SHARED = (
    "          database: postgresql\n"
    "          limiter: {backend: redis}\n"
    "          batches: {folder: /shared}\n"
    "          models:\n"
)
ADMIN = "      - {name: Admin, user_config: {port: 9443}}\n  - name: tiny\n"


def several(small_file: str) -> str:
    return small_file.replace(GATEWAY, f"{GATEWAY}        num_replicas: 2\n")


@pytest.mark.parametrize(
    ("without", "told"),
    [
        ("          database: postgresql\n", "user_config.database to postgresql"),
        ("          limiter: {backend: redis}\n", "user_config.limiter.backend to redis"),
        ("          batches: {folder: /shared}\n", "user_config.batches.folder to one that all"),
    ],
)
def test_several_gateways_must_share_what_they_count(
    small_file: str, without: str, told: str
) -> None:
    shared = several(small_file).replace("          models:\n", SHARED)
    assert problems_of(shared) == ()
    problem = only_problem(shared, without, "")
    assert problem.path == "applications[0].deployments[0]"
    assert told in problem.message


def test_several_gateways_without_batches_share_no_folder(small_file: str) -> None:
    shared = several(small_file).replace("          models:\n", SHARED)
    assert problems_of(shared.replace("batches: {folder: /shared}", "batches: null")) == ()


def test_the_admin_api_may_listen_elsewhere(small_file: str) -> None:
    text = small_file.replace("  - name: tiny\n", ADMIN)
    assert problems_of(text) == ()
    file = DeploymentFile.model_validate(parse(text).data)
    assert file.gateway.admin.port == 9443
    assert DeploymentFile.model_validate(parse(small_file).data).gateway.admin.port == 8001


@pytest.mark.parametrize(
    ("old", "new", "path", "told"),
    [
        ("port: 9443", "port: 8000", "[1].user_config.port", "overlaps the ports of http_options"),
        ("port: 9443", "prot: 9443", "[1].user_config.prot", "did you mean 'port'?"),
        ("name: Admin,", "name: Admin, num_replicas: 2,", "[1]", "the admin API runs once"),
        ("name: Admin", "name: Gateway", "[1].user_config.port", "unknown key"),
    ],
)
def test_what_is_wrong_with_the_admin_api_is_told(
    small_file: str, old: str, new: str, path: str, told: str
) -> None:
    text = small_file.replace("  - name: tiny\n", ADMIN).replace(old, new)
    found = {problem.path: problem.message for problem in problems_of(text)}
    assert told in found[f"applications[0].deployments{path}"]


def test_the_gateway_stands_before_the_admin_api(small_file: str) -> None:
    text = small_file.replace(GATEWAY, f"      - name: Admin\n{GATEWAY}")
    assert any("write Gateway, then Admin" in problem.message for problem in problems_of(text))
