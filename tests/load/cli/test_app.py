"""The commands as a user runs them: their files, exit codes and refusals."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

COMMAND = Path(sys.executable).with_name("turnout-load")


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )


def run(mock: str, out: Path, *words: object) -> subprocess.CompletedProcess[str]:
    said = ("run", "--url", mock, "--model", "m", "--rate", 40, "--requests", 20)
    return command(*said, "--output-tokens", "fixed:4", "--out", out, *words)


def keeps_its_schema(path: Path) -> Any:
    """Returns what a file holds, once it is what `turnout-load schema` says of it."""
    found = json.loads(path.read_text())
    jsonschema.validate(found, json.loads(command("schema", path.stem).stdout))
    return found


def test_a_run_leaves_a_result_that_keeps_its_schema(mock: str, tmp_path: Path) -> None:
    done = run(mock, tmp_path / "r", "--slo", "ttft<500ms", "--price", "m=1/2")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == [
        "report.html",
        "requests.csv",
        "result.json",
        "summary.md",
    ]
    result = keeps_its_schema(tmp_path / "r/result.json")
    assert command("schema").stdout == command("schema", "result").stdout
    for metric in ("ttft_ms", "itl_ms", "e2e_ms"):
        assert {"p50", "p90", "p95", "p99", "p99.9"} <= set(result[metric])
    assert result["requests"]["ok"] == 20
    assert result["goodput"]["share"] == 1
    assert result["rates"]["output_tokens"] > 0
    assert result["cost"]["usd_per_million_output_tokens"] > 2
    assert "| TTFT |" in done.stdout
    assert "TTFT" in (tmp_path / "r/report.html").read_text()


def test_usage_is_checked_by_a_tokenizer(mock: str, by_word: str, tmp_path: Path) -> None:
    done = run(mock, tmp_path, "--tokenizer", by_word, "--input-tokens", "fixed:10")
    assert (done.returncode, done.stderr) == (0, "")
    check = keeps_its_schema(tmp_path / "result.json")["usage_check"]
    assert check["output"] == {
        "answers": 20,
        "by_server": 80,
        "by_tokenizer": 80,
        "difference_percent": 0,
        "apart": 0,
    }
    assert check["prompt"]["by_tokenizer"] == 200
    assert "| output | 20 | 80 | 80 | 0.0% | 0 |" in done.stdout
    assert "<h2>Usage</h2>" in (tmp_path / "report.html").read_text()


def test_assertions_decide_the_exit_code(mock: str, tmp_path: Path) -> None:
    good = run(mock, tmp_path, "--assert", "ttft.p95<5s", "--assert", "error_rate<1%")
    assert good.returncode == 0
    bad = run(mock, tmp_path, "--assert", "ttft.p50<1ms")
    assert bad.returncode == 1
    assert "ttft.p50<1ms does not hold: measured 2" in bad.stdout  # the mock takes 20 ms and some


def test_a_server_that_answers_nothing_well_has_an_exit_code_of_its_own(
    mock: str, tmp_path: Path
) -> None:
    done = run(mock, tmp_path, "--model", "mock:401")
    assert done.returncode == 3
    assert "http 401" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--url", "localhost:8000"], "--url 'localhost:8000': expected an address such as"),
        (["--input-tokens", "lots"], "--input-tokens 'lots': expected"),
        (["--assert", "ttft.p12<5s"], "--assert 'ttft.p12<5s': expected"),
        (["--slo", "speed<5s"], "--slo 'speed<5s': expected"),
        (["--price", "m=cheap"], "expected INPUT/OUTPUT"),
        (["--header", "x"], "--header 'x': expected NAME=VALUE"),
        (["--dataset", "no-such.jsonl"], "no-such.jsonl: "),
        (["--processes", "0"], "--processes '0': expected a number above 0"),
        (["--endpoint", "images"], "--endpoint 'images': expected chat or completions"),
        (["--arrivals", "sometimes"], "--arrivals 'sometimes': expected"),
        (["--out", "/dev/null/x"], "/dev/null/x: the results cannot be written"),
        (["--warm-up", 5, "--duration", 5], "--warm-up '5': expected less than the 5 s"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    mock: str, tmp_path: Path, words: list[object], told: str
) -> None:
    done = run(mock, tmp_path, *words)
    assert done.returncode == 2
    assert done.stderr.startswith("turnout-load: ")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""  # no run was begun


def test_a_sweep_finds_the_rate_that_a_slow_enough_slo_allows(mock: str, tmp_path: Path) -> None:
    words = ("sweep", "--url", mock, "--model", "m", "--requests", 10, "--lowest", 20)
    done = command(*words, "--highest", 40, "--slo", "ttft.p50<10s", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    found = keeps_its_schema(tmp_path / "sweep.json")
    assert (found["schema_version"], found["highest_rate"], len(found["points"])) == (1, 40, 2)
    sent = [point["result"]["spec"] for point in found["points"]]
    assert [(each["workload"]["arrivals"], each["seed"]) for each in sent] == [
        ("poisson", 0),
        ("poisson", 1),
    ]
    missed = command(*words, "--slo", "ttft.p50<1ms", "--out", tmp_path)
    assert missed.returncode == 1


def test_a_comparison_sends_both_sides_the_same(mock: str, tmp_path: Path) -> None:
    words = ("compare", "a", "b", "--url", mock, "--requests", 10, "--rate", 50, "--rounds", 2)
    done = command(*words, "--price", "a=1/1", "--price", "b=2/2", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    found = keeps_its_schema(tmp_path / "comparison.json")
    assert (found["schema_version"], found["pairs"]) == (1, 20)
    assert found["share_by_model"] == {"a": [1, 0], "b": [0, 1]}
    [cost] = [each for each in found["metrics"] if each["name"] == "cost.mean"]
    assert cost["difference_percent"] == pytest.approx(100)
    for name in ("requests-a.csv", "requests-b.csv"):
        assert len((tmp_path / name).read_text().splitlines()) == 21


def test_a_soak_tells_its_windows(mock: str, tmp_path: Path) -> None:
    words = ("soak", "--url", mock, "--model", "m", "--rate", 30, "--duration", 2)
    done = command(*words, "--window", 1, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| ")]
    sent = {row[1].strip(): row[2].strip() for row in rows}
    assert (sent["0"], sent["1"]) == ("30", "30")
    assert "2" not in sent  # the last answers end after 2 s: no window of its own
    assert "drift is not judged" in done.stdout


def test_a_window_of_no_length_is_refused_before_a_soak(mock: str, tmp_path: Path) -> None:
    done = command("soak", "--url", mock, "--model", "m", "--window", 0, "--out", tmp_path / "r")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--window '0': expected seconds, above 0" in done.stderr
