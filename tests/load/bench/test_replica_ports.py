"""Benchmarks that ask replicas are let in: `turnout status --json` names the key's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp

from turnout_deployments.http_port import HttpPort, listen
from turnout_deployments.locked import Locked
from turnout_load.bench import abort, gateway_path, transformers_generate
from turnout_load.client.target import origin

KEY = "k" * 64
PAGE = b'vllm:num_requests_running{engine="0"} 2.0\n'


async def engine(scope: Any, receive: Any, send: Any) -> None:
    """Answers with its metrics, or with what it was asked and by which key."""
    body = (await receive())["body"] if scope["method"] == "POST" else b""
    head = {"type": "http.response.start", "status": 200, "headers": []}
    await send(head)
    await send({"type": "http.response.body", "body": body or PAGE})


def status(replica: str, gateway: str, folder: Path) -> dict[str, Any]:
    key_file, token_file, config = folder / "key", folder / "token", folder / "c.yaml"
    key_file.write_text(KEY)
    token_file.write_text("t")
    config.write_text("applications: []")
    return {
        "url": gateway,
        "dashboard": "http://127.0.0.1:1",
        "token_file": str(token_file),
        "config": str(config),
        "http_host": "127.0.0.1",
        "engines": {"small": [replica]},
        "engine_key_file": str(key_file),
    }


async def test_they_are_answered_by_a_locked_port(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "g" * 64)
    replica = HttpPort(Locked(engine, KEY), listen("127.0.0.1", None))
    gateway = HttpPort(Locked(engine, "g" * 64), listen("127.0.0.1", None))
    await replica.start()
    await gateway.start()
    target = gateway_path.target_of(status(replica.address, gateway.address, tmp_path), "small")
    taken: dict[str, list[float]] = {"replica": [], "gateway": []}
    async with aiohttp.ClientSession() as session:
        await gateway_path.measure_ways(session, target, 2, taken)
        assert await abort.running(session, replica.address) == 2.0
    assert {way: len(values) for way, values in taken.items()} == {"replica": 2, "gateway": 2}
    await replica.close()
    await gateway.close()


def test_the_load_tool_sends_the_key_of_the_file(tmp_path: Path) -> None:
    told = status("http://127.0.0.1:5", "http://127.0.0.1:6", tmp_path)
    found = origin(transformers_generate.replica_of(told, "small"), {})
    assert f"authorization: Bearer {KEY}\r\n".encode() in found.head
    assert KEY not in json.dumps(told)
