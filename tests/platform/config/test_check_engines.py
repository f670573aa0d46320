"""Engines that could not run: their shape, their GPUs, their ports."""

import re

import pytest
from tests.platform.config.mistakes import HUGE, MODEL, TINY, only_problem

MISTAKES = [
    # (what to find in the valid file, what to put there, path, value, words of the message)
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
        "tier: low, pools: [reserved],",
        "tier: low, pools: [reserved], capabilities: [chat, tools],",
        f"{MODEL}.tiny.capabilities[1]",
        "tools",
        "add enable_auto_tool_choice: true and tool_call_parser",
        id="tools promised by an engine without a parser",
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
]


@pytest.mark.parametrize(("old", "new", "path", "value", "message"), MISTAKES)
def test_an_engine_that_could_not_run_is_answered_with_path_value_and_what_would_be_right(
    small_file: str, old: str, new: str, path: str, value: object, message: str
) -> None:
    problem = only_problem(small_file, old, new)
    assert (problem.path, problem.value) == (path, value)
    assert re.search(message, problem.message), problem.message


def test_a_port_range_upside_down_is_a_mistake(small_file: str) -> None:
    old = "context_window: 2048"
    problem = only_problem(small_file, old, f"{old}\n      http_port_range: [9000, 8900]")
    assert problem.path == TINY
    assert "lowest port (9000) is above highest (8900)" in problem.message
