"""Tools are asked for so many requests, and their means are read from what they really wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from turnout_load.bench.engine_metrics import Mean
from turnout_load.bench.peer import Files, Load
from turnout_load.bench.peer_aiperf import Aiperf
from turnout_load.bench.peer_guidellm import Guidellm
from turnout_load.bench.peer_turnout import Turnout
from turnout_load.bench.peers import PEERS
from turnout_load.bench.real_engine import (
    COLUMNS,
    MEANS,
    aiperf_means,
    guidellm_means,
    main,
    row,
    turnout_means,
)

REPORTS = Path(__file__).parent / "reports"
PYTHON = Path("venv/bin/python")
LOAD = Load("http://127.0.0.1:1", "poisson", 60.0, rate=0.5, requests=40, model="small")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, tmp_path / "prompts.jsonl", tmp_path / "tokenizer")


def report(name: str) -> Any:
    return json.loads((REPORTS / name).read_text())


def test_aiperfs_means_are_those_that_it_wrote() -> None:
    assert aiperf_means(report("aiperf.json")) == {
        "ttft_ms": Mean(52.559529671875, 64),
        "itl_ms": Mean(9.999715637600804, 1984),
    }


def test_guidellms_means_are_those_that_it_wrote() -> None:
    assert guidellm_means(report("guidellm.json")) == {
        "ttft_ms": Mean(54.353998131947975, 73),
        "itl_ms": Mean(10.01515906835835, 2263),
    }


def test_this_tools_means_are_those_of_its_result() -> None:
    result = {"ttft_ms": {"mean": 50.5, "count": 4}, "itl_ms": {"mean": 10.25, "count": 60}}
    assert turnout_means(result) == {"ttft_ms": Mean(50.5, 4), "itl_ms": Mean(10.25, 60)}


def test_every_tools_means_can_be_read() -> None:
    assert {peer.name for peer in PEERS} == set(MEANS)


def test_tools_end_after_the_requests_that_they_are_asked_for(files: Files) -> None:
    turnout = Turnout().command(PYTHON, LOAD, files).argv
    aiperf = Aiperf().command(PYTHON, LOAD, files).argv
    (config,) = Guidellm().command(PYTHON, LOAD, files).inputs.values()
    guidellm = json.loads(config)["spec"]
    assert turnout[turnout.index("--requests") + 1] == "40"
    assert aiperf[aiperf.index("--request-count") + 1] == "40"
    assert guidellm["constraints"] == [{"kind": "max_requests", "count": 40}]
    assert not {"--duration", "--benchmark-duration"} & {*turnout, *aiperf}
    assert turnout[turnout.index("--model") + 1] == aiperf[aiperf.index("--model") + 1] == "small"
    assert guidellm["backend"]["model"] == "small"


def test_tools_ask_for_exactly_so_many_tokens_where_they_are_told_to(files: Files) -> None:
    exact = replace(LOAD, exact_output=True)
    turnout = Turnout().command(PYTHON, exact, files).argv
    aiperf = Aiperf().command(PYTHON, exact, files).argv
    (config,) = Guidellm().command(PYTHON, exact, files).inputs.values()
    assert "--exact-output" in turnout
    assert json.loads(aiperf[aiperf.index("--extra-inputs") + 1]) == {"ignore_eos": True}
    assert json.loads(config)["spec"]["backend"]["extras"] == {"body": {"ignore_eos": True}}
    assert "--exact-output" not in Turnout().command(PYTHON, LOAD, files).argv
    assert "--extra-inputs" not in Aiperf().command(PYTHON, LOAD, files).argv


def test_an_error_is_a_tools_mean_less_the_engines() -> None:
    told = {"ttft_ms": Mean(205.0, 40), "itl_ms": Mean(99.0, 600)}
    engine = {"ttft_ms": Mean(200.0, 41), "itl_ms": Mean(100.0, 615)}
    cells = row("x, 1", told, engine)
    assert cells == ["x, 1", 40, 41, 200.0, 205.0, 5.0, 100.0, 99.0, -1.0]
    assert len(cells) == len(COLUMNS)


def test_where_the_engine_saw_nothing_there_is_no_error() -> None:
    told = {"ttft_ms": Mean(205.0, 40), "itl_ms": Mean(99.0, 600)}
    cells = row("x, 1", told, {"ttft_ms": None, "itl_ms": None})
    assert cells == ["x, 1", 40, 0, None, 205.0, None, None, 99.0, None]


def test_missing_weights_are_one_sentence_before_any_tool_is_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--weights", str(tmp_path), "--venvs", str(tmp_path / "venvs")])
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "venvs").exists()
