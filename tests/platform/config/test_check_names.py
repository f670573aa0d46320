"""Names of models, applications, tiers and pools that lead nowhere or are taken."""

import re

import pytest
from tests.platform.config.mistakes import HUGE, MODEL, ROUTER, TINY, only_problem, problems_of

MISTAKES = [
    # (what to find in the valid file, what to put there, path, value, words of the message)
    pytest.param(
        "aliases: [h]",
        "aliases: [h, t]",
        f"{MODEL}.huge.aliases[1]",
        "t",
        r"'t' is taken by applications\[0\].*models\.tiny\.aliases\[0\]",
        id="two models with one alias",
    ),
    pytest.param(
        "aliases: [h]",
        "aliases: [tiny]",
        f"{MODEL}.huge.aliases[0]",
        "tiny",
        r"'tiny' is taken by applications\[0\].*models\.tiny: choose another",
        id="an alias that is a model's name",
    ),
    pytest.param(
        "aliases: [h]",
        "aliases: [auto]",
        f"{MODEL}.huge.aliases[0]",
        "auto",
        "reserved",
        id="auto as an alias",
    ),
    pytest.param(
        "tier: high",
        "tier: hihg",
        f"{MODEL}.huge.tier",
        "hihg",
        "not among the router's tiers: did you mean 'high'?",
        id="a model with a tier the router does not list",
    ),
    pytest.param(
        "tiers: [low, high], good_enough: {low: 0.6}",
        "tiers: [low, mid, high], good_enough: {low: 0.6, mid: 0.5}",
        f"{ROUTER}.tiers[1]",
        "mid",
        "no model has this tier",
        id="a tier without a model",
    ),
    pytest.param(
        "{application: tiny,",
        "{application: tinny,",
        f"{MODEL}.tiny.application",
        "tinny",
        "did you mean 'tiny'?",
        id="a model whose application is missing",
    ),
    pytest.param(
        "pools: [reserved], aliases: [t]",
        "pools: [reserved, spot], aliases: [t]",
        f"{MODEL}.tiny.pools[1]",
        "spot",
        r"application 'tiny' has no such pool \(reserved\)",
        id="a pool that the application lacks",
    ),
    pytest.param(
        "pools: [reserved, spot], aliases: [h]",
        "pools: [reserved], aliases: [h]",
        f"{HUGE}.pools.spot",
        None,
        "its replicas would get no request",
        id="a pool that the gateway does not use",
    ),
    pytest.param(
        "pools: {reserved: {}}",
        "pools: {resreved: {}, reserved: {}}",
        f"{TINY}.pools.resreved",
        "resreved",
        "did you mean 'reserved'?",
        id="a market that does not exist",
    ),
    pytest.param(
        "{name: spot, autoscaling_config",
        "{name: on_demand, autoscaling_config",
        "applications[2].deployments[1].name",
        "on_demand",
        r"not among the model's pools \(reserved, spot\)",
        id="bounds of a pool that does not exist",
    ),
]


@pytest.mark.parametrize(("old", "new", "path", "value", "message"), MISTAKES)
def test_a_name_that_leads_nowhere_or_is_taken_is_answered_with_what_would_be_right(
    small_file: str, old: str, new: str, path: str, value: object, message: str
) -> None:
    problem = only_problem(small_file, old, new)
    assert (problem.path, problem.value) == (path, value)
    assert re.search(message, problem.message), problem.message


def test_two_hosted_models_with_one_name_are_both_placed(small_file: str) -> None:
    problems = problems_of(small_file.replace("      model: huge", "      model: tiny"))
    assert [(problem.path, problem.value) for problem in problems] == [
        (f"{MODEL}.huge.application", "huge"),
        (f"{HUGE}.model", "tiny"),
    ]
    assert "hosts model 'tiny'" in problems[0].message
    assert "is taken by applications[1].args.model" in problems[1].message


def test_two_applications_with_one_name_are_a_mistake(small_file: str) -> None:
    other = "  - {name: tiny, route_prefix: /other, import_path: 'some.module:app'}\n"
    problems = problems_of(small_file + other)
    assert [(problem.path, problem.value) for problem in problems] == [
        ("applications[3].name", "tiny")
    ]
    assert "application name 'tiny' is taken by applications[1].name" in problems[0].message


def test_an_application_that_is_not_turnouts_passes(small_file: str) -> None:
    other = (
        "  - {name: other, route_prefix: /other, import_path: 'some.module:app', args: {a: 1}}\n"
    )
    assert problems_of(small_file + other) == ()


def test_a_second_application_at_the_gateways_route_is_a_mistake(small_file: str) -> None:
    problems = problems_of(small_file + "  - {name: other, import_path: 'some.module:app'}\n")
    assert [problem.path for problem in problems] == ["applications[3].route_prefix"]


def test_a_misspelt_builder_is_no_gateway(small_file: str) -> None:
    problems = problems_of(small_file.replace("gateway:build", "gatway:build"))
    assert [problem.path for problem in problems] == [
        "applications",
        "applications[0].import_path",
    ]
    assert "did you mean 'turnout_deployments.gateway:build'?" in problems[1].message


def test_an_alias_and_a_model_named_auto_are_refused(small_file: str) -> None:
    broken = small_file.replace("huge: {application", "auto: {application")
    broken = broken.replace("      model: huge", "      model: auto")
    assert [problem.path for problem in problems_of(broken)] == [f"{MODEL}.auto"]
