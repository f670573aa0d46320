"""What the gateway adds to a request at concurrency 1: its direct path against its handle path.

In one run, in rounds: the same request straight to the replica and through the gateway, in turn;
between half-rounds the gateway's `transport` is changed through Serve's REST API, as an operator
would. Reports the median and p99 of each way and the medians' differences, in milliseconds. The
gateway's key is taken from OPENAI_API_KEY.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.environment import environment

TRANSPORTS = ("direct", "handle")
WARM_UP = 5


@dataclass(frozen=True)
class Target:
    """Where to measure and how to switch the gateway's transport."""

    gateway: str
    gateway_key: str
    replica: str
    replica_key: str
    serve_api: str
    token: str
    config: dict[str, Any]
    request: dict[str, Any]


def target_of(status: dict[str, Any], model: str) -> Target:
    """Reads what `turnout status --json` says, with a request that makes the engine do little."""
    return Target(
        gateway=status["url"],
        gateway_key=os.environ.get("OPENAI_API_KEY", "unused"),
        replica=status["engines"][model][0],
        replica_key=Path(status["engine_key_file"]).read_text().strip(),
        serve_api=status["dashboard"],
        token=Path(status["token_file"]).read_text().strip(),
        config=_with_host(yaml.safe_load(Path(status["config"]).read_text()), status["http_host"]),
        request={
            "model": model,
            "prompt": "Hi",
            "max_tokens": 1,
            "temperature": 0,
        },
    )


def _with_host(config: dict[str, Any], host: str) -> dict[str, Any]:
    """Returns the file with the host that it was deployed with."""
    return {**config, "http_options": {**config.get("http_options", {}), "host": host}}


async def set_transport(
    session: aiohttp.ClientSession, target: Target, transport: str | None
) -> None:
    """Redeploys the file with a `transport`, or as it is, and waits until the gateway has it."""
    config = copy.deepcopy(target.config)
    gateway = next(app for app in config["applications"] if app["name"] == "gateway")
    if transport is not None:
        gateway["deployments"][0]["user_config"]["transport"] = transport
    headers = {"authorization": f"Bearer {target.token}"}
    url = f"{target.serve_api}/api/serve/applications/"
    async with session.put(url, json=config, headers=headers) as answer:
        answer.raise_for_status()
    await asyncio.sleep(1.0)
    while True:
        async with session.get(url, headers=headers) as answer:
            applications = (await answer.json())["applications"]
        if all(each["status"] == "RUNNING" for each in applications.values()):
            return
        await asyncio.sleep(0.2)


async def timed_ms(
    session: aiohttp.ClientSession, base: str, key: str, request: dict[str, Any]
) -> float:
    """Returns the milliseconds from sending a request to the answer's last byte."""
    headers = {"authorization": f"Bearer {key}"}
    started_ns = time.perf_counter_ns()
    async with session.post(f"{base}/v1/completions", json=request, headers=headers) as answer:
        await answer.read()
        answer.raise_for_status()
    return (time.perf_counter_ns() - started_ns) / 1e6


async def measure(target: Target, rounds: int, pairs: int) -> dict[str, dict[str, list[float]]]:
    """Returns milliseconds by transport and way (`replica`, `gateway`)."""
    taken: dict[str, dict[str, list[float]]] = {
        transport: {"replica": [], "gateway": []} for transport in TRANSPORTS
    }
    async with aiohttp.ClientSession() as session:
        try:
            for _ in range(rounds):
                for transport in TRANSPORTS:
                    await set_transport(session, target, transport)
                    await measure_ways(session, target, pairs, taken[transport])
        finally:
            await set_transport(session, target, None)
    return taken


async def measure_ways(
    session: aiohttp.ClientSession, target: Target, pairs: int, taken: dict[str, list[float]]
) -> None:
    """Adds the milliseconds of `pairs` requests over each way, after some that are not counted."""
    ways = (
        ("replica", target.replica, target.replica_key),
        ("gateway", target.gateway, target.gateway_key),
    )
    for number in range(WARM_UP + pairs):
        for way, base, key in ways:
            milliseconds = await timed_ms(session, base, key, target.request)
            if number >= WARM_UP:
                taken[way].append(milliseconds)


def rows(taken: dict[str, dict[str, list[float]]]) -> list[list[Cell]]:
    """Returns a row for each transport: medians, what the gateway added, and p99. Pure."""
    return [
        [
            transport,
            statistics.median(ways["replica"]),
            statistics.median(ways["gateway"]),
            statistics.median(ways["gateway"]) - statistics.median(ways["replica"]),
            statistics.median(
                through - straight
                for straight, through in zip(ways["replica"], ways["gateway"], strict=True)
            ),
            _p99(ways["replica"]),
            _p99(ways["gateway"]),
        ]
        for transport, ways in taken.items()
    ]


def _p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[98]


def main() -> None:
    """Measures and writes the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--status", type=argparse.FileType(), required=True, help="`turnout status --json`, - reads"
    )
    parser.add_argument("--model", default="small")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=25, help="requests of each way a half-round")
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    options = parser.parse_args()
    target = target_of(json.load(options.status), options.model)
    taken = asyncio.run(measure(target, options.rounds, options.pairs))
    save(
        Outcome(
            title="What the gateway adds to a request",
            question="One token from an engine, straight to its replica and through the gateway, "
            "in turn, at concurrency 1.",
            command="make bench-gateway-path",
            environment=environment("ray"),
            columns=[
                "transport",
                "replica p50, ms",
                "gateway p50, ms",
                "added p50, ms",
                "median of paired differences, ms",
                "replica p99, ms",
                "gateway p99, ms",
            ],
            rows=rows(taken),
            notes=[f"{len(taken['direct']['gateway'])} requests each way and transport."],
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
