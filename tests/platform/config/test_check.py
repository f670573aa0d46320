"""Wrong keys and values, and several mistakes at once."""

import re

import pytest
from tests.platform.config.mistakes import FACTS, HUGE, ROUTER, TINY, only_problem, problems_of

from turnout.config.check import check
from turnout.config.document import parse

MISTAKES = [
    # (what to find in the valid file, what to put there, path, value, words of the message)
    pytest.param(
        "context_window: 2048",
        "context_window: 2048\n      contxt: 1",
        f"{TINY}.contxt",
        1,
        "did you mean 'context_window'?",
        id="unknown key",
    ),
    pytest.param(
        "limits: {max_body_bytes: 1000000}",
        "limits: {max_body_byte: 1000000}",
        "applications[0].deployments[0].user_config.limits.max_body_byte",
        1000000,
        "did you mean 'max_body_bytes'?",
        id="unknown key of the limits",
    ),
    pytest.param(
        "http_options: {",
        "htp_options: {",
        "htp_options",
        {"host": "127.0.0.1", "port": 8000},
        "did you mean 'http_options'?",
        id="unknown key at the top, which Serve would ignore",
    ),
    pytest.param(
        "context_window: 2048",
        "context_window: two thousand",
        f"{TINY}.context_window",
        "two thousand",
        "should be a valid integer",
        id="wrong type",
    ),
    pytest.param(
        "tensor_parallel_size: 2",
        "tensor_parallel_size: true",
        f"{HUGE}.tensor_parallel_size",
        True,
        "should be a valid integer",
        id="a switch is no number",
    ),
    pytest.param(
        'OMP_NUM_THREADS: "1"',
        "OMP_NUM_THREADS: 1",
        f"{TINY}.environment.OMP_NUM_THREADS",
        1,
        "should be a valid string",
        id="environment variables are text",
    ),
    pytest.param(
        "      sources: [hf://org/tiny]\n",
        "",
        f"{TINY}.sources",
        None,
        "missing: Where the weights come from",
        id="missing key",
    ),
    pytest.param(
        "sources: [hf://org/tiny]",
        "sources: [hf://tiny]",
        f"{TINY}.sources[0]",
        "hf://tiny",
        "expected hf://org/name",
        id="a source that names no model",
    ),
    pytest.param(
        "min_replicas: 0, max_replicas: 4",
        "min_replicas: 5, max_replicas: 4",
        "applications[2].deployments[1].autoscaling_config",
        {"min_replicas": 5, "max_replicas": 4},
        r"min_replicas \(5\) is above max_replicas \(4\)",
        id="minimum above maximum",
    ),
    pytest.param(
        "{name: spot, autoscaling_config",
        "{name: spot, num_replicas: 2, autoscaling_config",
        "applications[2].deployments[1]",
        {
            "name": "spot",
            "num_replicas": 2,
            "autoscaling_config": {"min_replicas": 0, "max_replicas": 4},
        },
        "exclude each other",
        id="two ways to count replicas",
    ),
    pytest.param(
        "num_replicas: 1}\n  - name: huge",
        "num_replicas: -1}\n  - name: huge",
        "applications[1].deployments[0].num_replicas",
        -1,
        "greater than 0, or .*auto",
        id="a negative number of replicas",
    ),
    pytest.param(
        "good_enough: {low: 0.6}",
        "good_enough: {low: 1.6}",
        ROUTER,
        {"tiers": ["low", "high"], "good_enough": {"low": 1.6}},
        "not between 0 and 1",
        id="a threshold that is no probability",
    ),
    pytest.param(
        "context_window: 2048",
        "context_window: 2048\n      price: {input_usd_per_million_tokens: 1}",
        f"{TINY}.price",
        {"input_usd_per_million_tokens": 1},
        "belongs to the gateway's user_config.*restarts",
        id="a price among the args",
    ),
    pytest.param(
        "context_window: 2048",
        "context_window: 2048\n      num_replicas: 2",
        f"{TINY}.num_replicas",
        2,
        "belongs to the application's deployments",
        id="a replica bound among the args",
    ),
    pytest.param(
        "engine_args: {dtype: bfloat16}",
        "engine_args: {dtype: bfloat16, max_model_len: 4096}",
        f"{TINY}.engine_args.max_model_len",
        4096,
        "args.context_window sets this",
        id="an engine argument that a key of args sets",
    ),
    pytest.param(
        "max_replicas: 4",
        "max_replicas: 4, upscale_smoothing_factor: 2",
        "applications[2].deployments[1].autoscaling_config.upscale_smoothing_factor",
        2,
        "it is called upscaling_factor here",
        id="a deprecated duplicate",
    ),
    pytest.param(
        "route_prefix: null\n    import_path: turnout_deployments.model:build\n    args:\n"
        "      model: tiny",
        "route_prefix: /tiny\n    import_path: turnout_deployments.model:build\n    args:\n"
        "      model: tiny",
        "applications[1].route_prefix",
        "/tiny",
        "should be null",
        id="a model with a route of its own",
    ),
]


def test_the_file_that_the_broken_ones_are_made_of_is_valid(small_file: str) -> None:
    assert problems_of(small_file) == ()


@pytest.mark.parametrize(("old", "new", "path", "value", "message"), MISTAKES)
def test_a_wrong_key_or_value_is_answered_with_path_value_and_what_would_be_right(
    small_file: str, old: str, new: str, path: str, value: object, message: str
) -> None:
    problem = only_problem(small_file, old, new)
    assert (problem.path, problem.value) == (path, value)
    assert re.search(message, problem.message), problem.message


def test_five_mistakes_give_five_problems_in_the_order_of_the_file(small_file: str) -> None:
    changes = {
        "tier: high": "tier: top",
        "max_body_bytes: 1000000": "max_body_bytes: many",
        "context_window: 2048": "contextwindow: 2048\n      context_window: 2048",
        "context_window: 8192": "context_window: 99999",
        "min_replicas: 0": "min_replicas: 9",
    }
    for old, new in changes.items():
        small_file = small_file.replace(old, new)
    small_file = small_file.replace("tiers: [low, high]", "tiers: [low, high, top]")
    small_file = small_file.replace("good_enough: {low: 0.6}", "good_enough: {low: 0.6, high: 0.5}")
    assert [
        (problem.line, problem.path.rpartition(".")[2]) for problem in problems_of(small_file)
    ] == [
        (12, "tiers[1]"),
        (13, "max_body_bytes"),
        (20, "contextwindow"),
        (34, "context_window"),
        (41, "autoscaling_config"),
    ]


def test_a_mistake_in_one_key_hides_none_in_the_others_of_the_same_model(small_file: str) -> None:
    broken = small_file.replace("tensor_parallel_size: 2", "tensor_parallel_size: 4")
    broken = broken.replace("model: huge\n", "model: huge\n      seed: 1\n      replica_cpus: -1\n")
    assert [problem.path for problem in problems_of(broken)] == [
        f"{HUGE}.seed",
        f"{HUGE}.replica_cpus",
        f"{HUGE}.tensor_parallel_size",
    ]


def test_a_model_unknown_here_is_named_in_a_note(small_file: str) -> None:
    findings = check(parse(small_file), FACTS)
    assert len(findings.notes) == 1
    assert findings.notes[0].startswith("tiny: heads and context window not checked")
    assert "turnout models fetch" in findings.notes[0]
