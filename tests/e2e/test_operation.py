"""What an operator relies on: aborts, metrics, ports, and changes that restart no engine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.waiting import within

from turnout.cluster.processes import listening, processes_of

if TYPE_CHECKING:
    from tests.e2e.conftest import System

LONG = [{"role": "user", "content": "Tell me a very long story about the sea."}]
END_TOKENS = {"small": (0, 2), "large": (151643, 151645)}
"""What ends an answer of SmolLM2 and of Qwen2.5."""
GONE_S = 15
"""Far less than the minutes of 2,000 tokens; how fast it is, `make bench-abort` measures."""
KNOWN_OPEN = {8404, 9101}  # HAProxy's pages: Ray's fixed template binds every interface


def endless(model: str) -> dict[str, Any]:
    """Returns a request whose answer is as long as max_tokens, whatever is sampled."""
    bias = {str(token): -100 for token in END_TOKENS[model]}
    return {"model": model, "messages": LONG, "logit_bias": bias}


def test_up_tells_its_steps_and_how_to_ask(system: System) -> None:
    for told in ("✓ ray", "✓ model small", "✓ engines", f"{system.url}/v1", "curl ", "OpenAI("):
        assert told in system.up_output


def test_a_client_that_leaves_a_stream_stops_the_engine(system: System) -> None:
    assert system.running_requests("large") == 0
    body = {**endless("large"), "max_tokens": 2000, "stream": True}
    with system.http.stream(
        "POST", f"{system.url}/v1/chat/completions", json=body, timeout=60
    ) as answer:
        lines = answer.iter_lines()  # kept: dropping it would close the connection
        next(lines)
        assert within(2.0, lambda: system.running_requests("large") == 1)
    assert within(GONE_S, lambda: system.running_requests("large") == 0)
    assert within(GONE_S, lambda: system.metric("turnout_requests_in_flight") == 0)


def test_a_client_that_gives_up_waiting_stops_the_engine(system: System) -> None:
    """httpx sends a body apart from its headers: HAProxy must see that client leave, too."""
    assert system.running_requests("large") == 0
    body = {**endless("large"), "max_tokens": 2000}
    try:
        system.http.post(f"{system.url}/v1/chat/completions", json=body, timeout=5)
    except httpx.ReadTimeout:
        pass
    else:
        raise AssertionError("2,000 tokens in 5 s: the test needs a longer answer")
    assert within(GONE_S, lambda: system.running_requests("large") == 0)


def test_metrics_count_requests_and_tokens_as_usage_does(system: System, client: Any) -> None:
    def counted() -> tuple[float, float]:
        requests = system.metric("turnout_requests_total", model="small", status="200")
        return requests, system.metric("turnout_tokens_total", model="small", kind="completion")

    requests, tokens = counted()
    answer = client.chat.completions.create(model="small", messages=LONG, max_tokens=5)
    list(client.chat.completions.create(model="small", messages=LONG, max_tokens=7, stream=True))
    assert answer.usage is not None
    assert counted() == (requests + 2, tokens + answer.usage.completion_tokens + 7)


def test_nothing_of_ours_listens_beyond_this_machine(system: System) -> None:
    """Known exceptions: HAProxy's pages, and Serve replicas' gRPC ports (guarded by the token)."""
    processes = {process.pid: process for process in processes_of(system.run.id)}
    open_to_all = [
        (port, processes[pid].name())
        for host, port, pid in listening(processes.values())
        if not host.startswith(("127.", "::1", "::ffff:127."))
    ]
    others = [
        (port, name)
        for port, name in open_to_all
        if port not in KNOWN_OPEN and not name.startswith("ray::ServeRepli")
    ]
    assert others == []


def test_an_engine_on_one_cpu_worker_is_one_process(system: System) -> None:
    """Two would wait for one another in busy loops, on the cores that should compute."""
    assert [len(pids) for pids in system.engine_pids().values()] == [1, 1]


def test_a_second_gateway_replica_is_on_the_same_metrics_page(system: System) -> None:
    settings = system.settings()
    settings["applications"][0]["deployments"][0]["num_replicas"] = 2
    system.write(settings)
    engines = system.engine_pids()
    assert len(engines) == 2
    system.serve_deploy()  # `turnout up` refuses several gateways on SQLite, which only counts here

    def gateways() -> set[str]:
        page = system.http.get(f"{system.url}/metrics", timeout=10).text
        families = text_string_to_metric_families(page)
        return {sample.labels.get("gateway", "") for f in families for sample in f.samples}

    assert within(60, lambda: len(gateways()) == 2)
    before = system.metric("turnout_requests_total", endpoint="completions", status="200")
    for _ in range(8):  # whichever replica answers, and whichever replica is asked for the page
        body = {"model": "small", "prompt": "a", "max_tokens": 1}
        system.http.post(f"{system.url}/v1/completions", json=body, timeout=60).raise_for_status()
    for _ in range(4):
        after = system.metric("turnout_requests_total", endpoint="completions", status="200")
        assert after == before + 8
    assert system.engine_pids() == engines


def test_changes_that_are_not_the_engines_own_restart_no_engine(system: System) -> None:
    """Through `serve deploy`, as a platform engineer does it: a price, a bound, a model added.

    The added model is large again on two workers (tensor parallel): its greedy text must be the
    same.
    """
    before = system.engine_pids()
    assert len(before) == 2
    settings = system.settings()
    gateway, _small, large = settings["applications"][:3]
    models = gateway["deployments"][0]["user_config"]["models"]
    models["small"]["price"]["input_usd_per_million_tokens"] = 0.5
    large["deployments"][0]["autoscaling_config"]["max_replicas"] = 2
    models["split"] = {"application": "split", "tier": "large", "pools": ["reserved"]}
    args = {**large["args"], "model": "split", "tensor_parallel_size": 2, "context_window": 1024}
    # What is left of 2 cores, and little memory: each worker has a cache of its own.
    args.update(resources={"CPU": 0.05}, replica_cpus=0)
    args["engine_args"] = {**args["engine_args"], "kv_cache_memory_bytes": 128 * 2**20}
    settings["applications"].append({**large, "name": "split", "args": args})
    system.write(settings)
    system.serve_deploy()
    # Known from now on, but its engine needs a while: told at once, with a time to come back.
    refused = {"model": "split", "prompt": "a", "max_tokens": 1}
    answers_so_far: list[httpx.Response] = []

    def is_refused() -> bool:
        answers_so_far.append(
            system.http.post(f"{system.url}/v1/completions", json=refused, timeout=30)
        )
        return answers_so_far[-1].status_code == 503

    assert within(30, is_refused)
    assert answers_so_far[-1].headers["retry-after"] == "5"
    assert answers_so_far[-1].json()["error"]["code"] == "no_ready_replica"
    assert within(300, lambda: _window(system, "split") == 1024)
    after = system.engine_pids()
    assert {name: pids for name, pids in after.items() if "split" not in name} == before
    answers = [_greedy(system, model) for model in ("split", "large")]
    assert answers[0] == answers[1]
    settings["applications"].pop()
    del models["split"]
    system.write(settings)
    system.serve_deploy()
    assert within(60, lambda: system.engine_pids() == before)


def test_the_handle_path_answers_streams_and_aborts_as_the_direct_one(
    system: System, client: Any
) -> None:
    ask = {"model": "small", "messages": LONG, "max_tokens": 12, "temperature": 0}
    direct = client.chat.completions.create(**ask).choices[0].message.content
    settings = system.settings()
    gateway = settings["applications"][0]["deployments"][0]["user_config"]
    gateway["transport"] = "handle"
    system.write(settings)
    system.serve_deploy()
    time.sleep(5)  # both gateway replicas take new settings within Serve's next rounds
    chunks = list(client.chat.completions.create(**ask, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == direct
    assert client.chat.completions.create(**ask).choices[0].message.content == direct
    body = {**endless("small"), "max_tokens": 400, "stream": True}
    with system.http.stream(
        "POST", f"{system.url}/v1/chat/completions", json=body, timeout=60
    ) as answer:
        lines = answer.iter_lines()  # kept: dropping it would close the connection
        next(lines)
        assert within(2.0, lambda: system.running_requests("small") == 1)
    assert within(2.0, lambda: system.running_requests("small") == 0)
    gateway["transport"] = "direct"
    system.write(settings)
    system.serve_deploy()


def _window(system: System, model: str) -> int | None:
    """Returns a model's window as the gateway lists it; None until a replica of it is ready."""
    listed = system.http.get(f"{system.url}/v1/models", timeout=10).json()["data"]
    windows = {entry["id"]: entry["context_window"] for entry in listed}
    window: int | None = windows.get(model)
    return window


def _greedy(system: System, model: str) -> Any:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Write a function that adds two numbers."}],
        "max_tokens": 32,
        "temperature": 0,
    }
    answer = system.http.post(f"{system.url}/v1/chat/completions", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["message"]["content"]
