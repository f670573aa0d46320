"""One broken file per mistake: each change to a valid file gives exactly one problem."""

import re

import pytest

from turnout.config.check import check
from turnout.config.document import parse
from turnout.config.problems import Problem
from turnout.models.facts import ModelFacts

MODEL = "applications[0].deployments[0].user_config.models"
ROUTER = "applications[0].deployments[0].user_config.router"
TINY, HUGE = "applications[1].args", "applications[2].args"
# A model with 14 attention heads, 2 KV heads and a window of 32768 tokens.
FACTS = {"huge": ModelFacts("Qwen2ForCausalLM", 14, 2, 32768)}

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
        "good_enough: {low: 0.6}",
        "good_enough: {low: 1.6}",
        ROUTER,
        {"tiers": ["low", "high"], "good_enough": {"low": 1.6}},
        "not between 0 and 1",
        id="a threshold that is no probability",
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
    pytest.param(
        "tensor_parallel_size: 2",
        "tensor_parallel_size: 4",
        f"{HUGE}.tensor_parallel_size",
        4,
        "does not divide the model's 14 attention heads and 2 KV heads: one of 1, 2, 14",
        id="workers that do not divide the heads",
    ),
    pytest.param(
        "tensor_parallel_size: 2",
        "tensor_parallel_size: 7",
        f"{HUGE}.tensor_parallel_size",
        7,
        "one of 1, 2, 14",
        id="workers that divide the heads but share no KV head evenly",
    ),
    pytest.param(
        "tensor_parallel_size: 2",
        "tensor_parallel_size: 2\n      gpus_per_node: 1",
        f"{HUGE}.tensor_parallel_size",
        2,
        r"exceeds the GPUs of a node bundle \(gpus_per_node: 1\)",
        id="more workers than a node has GPUs",
    ),
    pytest.param(
        "context_window: 8192",
        "context_window: 40000",
        f"{HUGE}.context_window",
        40000,
        "at most 32768",
        id="a context window above the model's",
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
        "resources: {GPU: 1}",
        "resources: {GPU: 0.5}\n      engine_args: {gpu_memory_utilization: 0.4}",
        f"{HUGE}.resources.GPU",
        0.5,
        "2 workers of one engine may not share GPUs",
        id="workers of one engine on shared GPUs",
    ),
    pytest.param(
        "tensor_parallel_size: 2\n      accelerator: H100\n      resources: {GPU: 1}",
        "accelerator: H100\n      resources: {GPU: 0.5}",
        f"{HUGE}.engine_args.gpu_memory_utilization",
        0.92,
        "at most 0.5",
        id="more of a shared GPU's memory than its share",
    ),
    pytest.param(
        "resources: {CPU: 0.5}",
        "resources: {CPU: 0.5, GPU: 1}",
        f"{TINY}.resources.GPU",
        1.0,
        "accelerator is 'cpu'",
        id="a GPU for an engine on the CPU",
    ),
    pytest.param(
        "resources: {GPU: 1}",
        "resources: {CPU: 1}",
        f"{HUGE}.resources",
        {"CPU": 1.0},
        "how much of a GPU",
        id="a GPU engine without a GPU",
    ),
    pytest.param(
        "context_window: 2048",
        "context_window: 2048\n      http_port_range: [7990, 8010]",
        f"{TINY}.http_port_range",
        [7990, 8010],
        r"overlaps the ports of http_options\.port \(8000\)",
        id="a port used twice",
    ),
    pytest.param(
        "port: 8000",
        "port: 10500",
        "http_options.port",
        10500,
        "Ray's workers take ports 10002 to 19999",
        id="a port among Ray's",
    ),
    pytest.param(
        "context_window: 2048",
        "context_window: 2048\n      http_port_range: [9000, 8900]",
        TINY,
        None,
        r"lowest port \(9000\) is above highest \(8900\)",
        id="a port range upside down",
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
        "tier: low, pools: [reserved],",
        "tier: low, pools: [reserved], capabilities: [chat, tools],",
        f"{MODEL}.tiny.capabilities[1]",
        "tools",
        "add enable_auto_tool_choice: true and tool_call_parser",
        id="tools promised by an engine without a parser",
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


def problems_of(text: str) -> tuple[Problem, ...]:
    return check(parse(text), FACTS).problems


def test_the_file_that_the_broken_ones_are_made_of_is_valid(small_file: str) -> None:
    assert problems_of(small_file) == ()


@pytest.mark.parametrize(("old", "new", "path", "value", "message"), MISTAKES)
def test_a_mistake_is_answered_with_path_value_and_what_would_be_right(
    small_file: str, old: str, new: str, path: str, value: object, message: str
) -> None:
    assert small_file.count(old) == 1, "the change must hit one place"
    problems = problems_of(small_file.replace(old, new))
    assert [problem.path for problem in problems] == [path]
    if path != TINY:
        assert problems[0].value == value
    assert re.search(message, problems[0].message), problems[0].message


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
