import csv
import gzip
import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from turnout_router.artifact import load
from turnout_router.cli import app, main
from turnout_router.encoders import StaticEncoder
from turnout_router.errors import OutcomesInvalid
from turnout_router.features import features
from turnout_router.outcomes import GSM8K, MMLU, Outcome, read_outcomes
from turnout_router.router import Router
from turnout_router.train import Views, fit_difficulty, train

Row = tuple[object, ...]

CITIES = ["Paris", "Rome", "Lima", "Oslo", "Cairo", "Delhi", "Quito", "Tokyo"]
FACTS = ["In which country is {}?", "Is {} a big city?", "What river flows through {}?"]
SUMS = ["Add {} and {}, then take {} percent of it.", "A car does {} km in {} h and {} min."]


def fact(rng: random.Random) -> str:
    return rng.choice(FACTS).format(f"{rng.choice(CITIES)} {rng.choice(CITIES)}")


def sum_of(rng: random.Random) -> str:
    return rng.choice(SUMS).format(*(rng.randint(100, 999) for _ in range(3)))


def write_csv(path: Path, header: list[str], rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([header, *rows])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world in which the weak model knows facts nine times of ten and sums once of ten."""
    folder, rng = tmp_path_factory.mktemp("data"), random.Random(1)
    facts = [fact(rng) for _ in range(160)]
    sums = [sum_of(rng) for _ in range(80)]
    options = "\nA. yes\nB. no\nC. both\nD. neither\nAnswer:"
    rows: list[Row] = [
        (i, f"subject {i % 8}", text + options, 1, int(rng.random() < 0.9), 1)
        for i, text in enumerate(facts)
    ]
    header = ["id", "subject", "prompt", "strong", "weak", "clean"]
    write_csv(folder / "routellm_mmlu.csv.gz", header, rows)
    rows = [(i, text, 1, int(rng.random() < 0.1), 1) for i, text in enumerate(sums)]
    write_csv(folder / "routellm_gsm8k.csv.gz", ["id", "prompt", "strong", "weak", "clean"], rows)
    write_lengths(folder / "zeroeval", facts[:40], sums[:40], rng)
    return folder


def write_lengths(folder: Path, facts: list[str], sums: list[str], rng: random.Random) -> None:
    """Answers to sums have some 700 characters, to facts some 70; failed ones have 9."""
    questions = [*facts, *sums]
    rows = [
        ("d", i, model, 1, int(model == "a"), size if model == "a" else 9)
        for i in range(len(questions))
        for model in ("a", "failed", "failed too")
        for size in [(70 if i < len(facts) else 700) + rng.randint(-9, 9)]
    ]
    header = ["dataset", "id", "model", "correct", "answered", "out_chars"]
    write_csv(folder / "outcomes.csv.gz", header, rows)
    with gzip.open(folder / "questions.jsonl.gz", "wt", encoding="utf-8") as lines:
        for i, question in enumerate(questions):
            lines.write(json.dumps({"dataset": "d", "id": str(i), "question": question}) + "\n")


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("artifact")
    result = CliRunner().invoke(app, ["train", "--data", str(data), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out, result.output


def test_the_trained_artifact_tells_the_two_kinds_of_prompt_apart(
    trained: tuple[Path, str],
) -> None:
    router = Router.load("static", trained[0])
    rng = random.Random(2)
    assert min(router.difficulty(fact(rng)) for _ in range(20)) > 0.6
    assert max(router.difficulty(sum_of(rng)) for _ in range(20)) < 0.4


def test_the_trained_lengths_are_those_of_answered_questions(trained: tuple[Path, str]) -> None:
    router = Router.load("static", trained[0])
    rng = random.Random(3)
    assert router.length(fact(rng)).p50 == pytest.approx(70 / 3.5, rel=0.3)
    assert router.length(sum_of(rng)).p50 == pytest.approx(700 / 3.5, rel=0.3)


def test_the_report_measures_on_held_out_prompts_beside_the_two_baselines(
    trained: tuple[Path, str],
) -> None:
    report = load("static", trained[0]).report
    assert report["difficulty"]["held_out_questions"]["all"]["auc"] > 0.8
    assert report["difficulty"]["baselines"].keys() == {"prompt_length", "subject"}
    assert report["seed"] == 0
    assert {source["licence"] for source in report["sources"]} == {"Apache-2.0", "MIT"}
    assert "prompt length alone" in trained[1]


def test_both_views_of_an_outcome_stay_on_one_side_of_a_split() -> None:
    outcomes = [Outcome(f"question {i}\nA. 1\nB. 2\nAnswer:", "s", 1, i % 2) for i in range(6)]
    views = Views.of(outcomes, StaticEncoder.load())
    taken = views.take(np.array([1, 4]))
    assert taken.groups == ["question 1", "question 4"] * 2
    assert taken.weak.tolist() == [1, 0, 1, 0]
    np.testing.assert_array_equal(taken.rows, views.rows[[1, 4, 6 + 1, 6 + 4]])


def test_the_router_computes_what_the_fitted_classifier_predicts(
    data: Path, trained: tuple[Path, str]
) -> None:
    encoder = StaticEncoder.load()
    outcomes = read_outcomes(data / MMLU) + read_outcomes(data / GSM8K, subject="gsm8k")
    fitted, _ = fit_difficulty(Views.of(outcomes, encoder))
    texts = ["Is Rome a big city?", "Add 3 and 4.", "7" * 300, "你好", ""]
    expected = fitted.predict_proba(features(texts, encoder))[:, 1]
    estimates = Router.load("static", trained[0]).estimates(texts)
    assert [estimate.difficulty for estimate in estimates] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(i, "s", f"question {i}", 1, 1, 1) for i in range(40)], "weak is 1 in every row"),
        ([(i, "s", "same question", 1, i % 2, 1) for i in range(40)], "1 different question"),
    ],
)
def test_outcomes_that_teach_nothing_end_with_one_sentence(
    data: Path, tmp_path: Path, rows: list[Row], message: str
) -> None:
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    header = ["id", "subject", "prompt", "strong", "weak", "clean"]
    for name in (MMLU, GSM8K):
        write_csv(tmp_path / name, header, rows)
    with pytest.raises(OutcomesInvalid, match=message):
        train(tmp_path, StaticEncoder.load())


def test_a_missing_file_ends_the_command_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "--data", str(tmp_path), "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["turnout-router", *arguments])
    with pytest.raises(SystemExit, match="1"):
        main()
    assert capsys.readouterr().err.strip().endswith(f"{MMLU}: there is no such file")
