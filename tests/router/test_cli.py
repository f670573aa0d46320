import json

from typer.testing import CliRunner

from turnout_router.cli import app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_explain_prints_difficulty_pulls_and_length_as_json() -> None:
    answer = json.loads(run("explain", "What is the capital of France?"))
    assert answer["difficulty"] > 0.7
    assert "topic" in answer["pulls"]
    assert answer["length"]["p50"] <= answer["length"]["p90"]


def test_report_prints_the_label_and_both_baselines() -> None:
    output = run("report")
    assert "Mixtral" in output
    assert "prompt length alone" in output
    assert "subject alone" in output


def test_bench_prints_a_row_for_every_kind_of_text() -> None:
    output = run("bench", "--repeats", "20")
    for kind in ("short", "typical", "1 MB", "emoji", "binary-looking"):
        assert kind in output
