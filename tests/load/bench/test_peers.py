"""Figures are read from reports that the tools' pinned versions wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import turnout_load
from turnout_load.bench.inputs import write_prompts, write_tokenizer
from turnout_load.bench.peer import Command, Files, Load, Peer, PeerFailed
from turnout_load.bench.peer_aiperf import Aiperf
from turnout_load.bench.peer_guidellm import Guidellm
from turnout_load.bench.peer_table import COLUMNS, errors_ms, rows
from turnout_load.bench.peer_turnout import Turnout
from turnout_load.bench.venvs import locked_version

REPORTS = Path(__file__).parent / "reports"
LOCKS = Path(turnout_load.__file__).parents[1] / "peers"
PYTHON = Path("venv/bin/python")
LOAD = Load("http://127.0.0.1:1", "poisson", 20.0, rate=8.0, output_tokens=16, seed=3)
USERS = Load("http://127.0.0.1:1", "closed", 20.0, users=4, stream=False)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, tmp_path / "prompts.jsonl", tmp_path / "tokenizer")


def report(name: str) -> Any:
    return json.loads((REPORTS / name).read_text())


def option(command: Command, name: str) -> str:
    return command.argv[command.argv.index(name) + 1]


def test_aiperfs_figures_are_those_of_its_console_table() -> None:
    figures = Aiperf().figures(report("aiperf.json"))
    assert round(figures["ttft_ms"]["p50"], 2) == 51.18
    assert round(figures["ttft_ms"]["p99"], 2) == 69.30
    assert round(figures["request_itl_ms"]["p50"], 2) == 10.00
    assert round(figures["request_itl_ms"]["p99"], 2) == 10.25
    assert round(figures["itl_ms"]["p99"], 2) == 14.21


def test_guidellms_figures_are_those_of_its_console_table() -> None:
    figures = Guidellm().figures(report("guidellm.json"))
    assert round(figures["ttft_ms"]["p50"], 1) == 52.5
    assert round(figures["ttft_ms"]["p95"], 1) == 67.0
    assert round(figures["request_itl_ms"]["p50"], 1) == 10.0
    assert round(figures["request_itl_ms"]["p95"], 1) == 10.3
    assert "itl_ms" not in figures


@pytest.mark.parametrize("peer", [Aiperf(), Guidellm()])
def test_a_report_without_figures_is_no_surprise(peer: Peer) -> None:
    with pytest.raises(KeyError):
        peer.figures({})


def test_aiperf_is_asked_for_the_load(files: Files) -> None:
    command = Aiperf().command(PYTHON, LOAD, files)
    assert command.argv[:2] == ("venv/bin/aiperf", "profile")
    assert option(command, "--request-rate") == "8"
    assert option(command, "--arrival-pattern") == "poisson"
    assert option(command, "--osl") == "16"
    assert option(command, "--random-seed") == "3"
    assert "--streaming" in command.argv
    closed = Aiperf().command(PYTHON, USERS, files)
    assert option(closed, "--concurrency") == "4"
    assert not {"--request-rate", "--streaming"} & set(closed.argv)


def test_guidellm_is_asked_for_the_load(files: Files) -> None:
    command = Guidellm().command(PYTHON, LOAD, files)
    spec = json.loads(command.inputs[Path(option(command, "--config"))])["spec"]
    assert (spec["profile"]["kind"], spec["profile"]["rate"]) == ("poisson", [8.0])
    assert (spec["backend"]["stream"], spec["backend"]["max_tokens"]) == (True, 16)
    closed = Guidellm().command(PYTHON, USERS, files)
    (text,) = closed.inputs.values()
    spec = json.loads(text)["spec"]
    assert spec["profile"] == {"kind": "concurrent", "streams": [4]}
    assert spec["backend"]["stream"] is False


def test_this_tool_is_asked_for_the_load(files: Files) -> None:
    command = Turnout().command(PYTHON, LOAD, files)
    assert command.argv[:4] == ("venv/bin/python", "-m", "turnout_load", "run")
    assert option(command, "--url") == "http://127.0.0.1:1/v1"
    assert (option(command, "--rate"), option(command, "--arrivals")) == ("8", "poisson")
    assert command.argv[-1] == "--stream"


def test_every_tool_has_a_pinned_version() -> None:
    assert locked_version(LOCKS / "aiperf.txt", "aiperf") == "0.13.0"
    assert locked_version(LOCKS / "guidellm.txt", "guidellm") == "0.8.1"
    with pytest.raises(PeerFailed, match=r"is not in .*aiperf\.txt"):
        locked_version(LOCKS / "aiperf.txt", "guidellm")


def test_prompts_are_the_same_for_a_seed_and_have_one_token_a_word(files: Files) -> None:
    write_prompts(files.prompts, 20, seed=3)
    first = files.prompts.read_text()
    write_prompts(files.prompts, 20, seed=3)
    assert files.prompts.read_text() == first
    write_tokenizer(files.tokenizer)
    tokenizer = Tokenizer.from_file(str(files.tokenizer / "tokenizer.json"))
    prompts = [json.loads(line)["text"] for line in first.splitlines()]
    assert {len(tokenizer.encode(prompt).ids) for prompt in prompts} == {32}
    assert not any("[UNK]" in tokenizer.encode(prompt).tokens for prompt in prompts)
    assert len(set(prompts)) == 20


def test_an_error_is_what_a_tool_says_less_what_was_true() -> None:
    truth = {"ttft_ms": {"p50": 50.0, "p99": 52.0}, "itl_ms": {"p50": 10.0, "p99": 11.0}}
    figures = {"ttft_ms": {"p50": 51.5, "p99": 51.0}}
    compared = errors_ms(figures, truth)
    assert compared == {
        "ttft_ms": {
            "p50": {"told": 51.5, "truth": 50.0, "error": 1.5},
            "p99": {"told": 51.0, "truth": 52.0, "error": -1.0},
        }
    }


def run(tool: str, load: dict[str, Any], p50: float, p99: float) -> dict[str, Any]:
    return {
        "tool": tool,
        "load": load,
        "compared": {"ttft_ms": {"p50": {"error": p50}, "p99": {"error": p99}}},
    }


def test_a_row_has_the_median_of_the_rounds_and_the_first_load_the_rate() -> None:
    poisson, closed = {"arrivals": "poisson", "rate": 8.0}, {"arrivals": "closed", "users": 4}
    rounds = [
        run("x", poisson, 1.0, 9.0),
        run("y", poisson, 5.0, 5.0),
        run("x", closed, 0.5, 0.5),
        run("x", poisson, 2.0, 100.0),
        run("x", poisson, 8.0, -1.0),
    ]
    table = rows(rounds, {"x": {"most_sent_per_s": 7.0}, "y": {"most_sent_per_s": 3.0}})
    no_gaps = [None] * 4
    assert table == [
        ["x, poisson 8/s", 2.0, 9.0, *no_gaps, 7.0],
        ["y, poisson 8/s", 5.0, 5.0, *no_gaps, 3.0],
        ["x, 4 users", 0.5, 0.5, *no_gaps, None],
    ]
    assert len(COLUMNS) == len(table[0])
