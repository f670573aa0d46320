"""The command line: turnout-router train | report | explain | bench."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from turnout_router.artifact import SHIPPED, load, save
from turnout_router.bench import measure
from turnout_router.encoders import load_encoder
from turnout_router.errors import RouterError
from turnout_router.router import Router

EncoderName = Annotated[str, typer.Option(help="Sentence encoder: static or minilm.")]
Folder = Annotated[Path, typer.Option(help="Folder of the trained artifact.")]
EncoderPath = Annotated[
    Path | None, typer.Option(help="Folder of MiniLM, where its distribution is not installed.")
]

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
console = Console(soft_wrap=True)


@app.command()
def train(
    data: Annotated[Path, typer.Option(help="Folder with RouteLLM's and ZeroEval's files.")],
    out: Annotated[Path, typer.Option(help="Folder to write the artifact to.")],
    encoder: EncoderName = "static",
    encoder_path: EncoderPath = None,
    seed: Annotated[int, typer.Option(help="Seed of the held-out split.")] = 0,
) -> None:
    """Trains on recorded outcomes, prints the report and writes the artifact."""
    from turnout_router.train import train as fit  # noqa: PLC0415 (scikit-learn costs a second)

    artifact = fit(data, load_encoder(encoder, encoder_path), seed, say=console.print)
    path = save(artifact, out)
    _print_report(artifact.report)
    console.print(f"written: {path} and {path.with_suffix('.npz').name}")


@app.command()
def report(encoder: EncoderName = "static", artifact: Folder = SHIPPED) -> None:
    """Prints an artifact's training report."""
    _print_report(load(encoder, artifact).report)


@app.command()
def explain(
    text: Annotated[str, typer.Argument(help="The text to judge.")],
    encoder: EncoderName = "static",
    artifact: Folder = SHIPPED,
    encoder_path: EncoderPath = None,
) -> None:
    """Prints a text's difficulty, what pulls it up or down, and predicted length as JSON."""
    router = Router.load(encoder, artifact, encoder_path)
    estimate = router.estimate(text)
    answer = {
        "difficulty": round(estimate.difficulty, 4),
        "pulls": {name: round(pull, 3) for name, pull in router.pulls(text).items()},
        "length": {"p50": estimate.length.p50, "p90": estimate.length.p90},
    }
    console.print_json(json.dumps(answer))


@app.command()
def bench(
    encoder: EncoderName = "static",
    artifact: Folder = SHIPPED,
    encoder_path: EncoderPath = None,
    repeats: Annotated[int, typer.Option(min=1, help="Decisions per kind of text.")] = 2000,
) -> None:
    """Measures how long a decision takes, by kind of text, in this process."""
    measured = measure(encoder, artifact, encoder_path, repeats)
    console.print(f"loaded in {measured.load_s:.2f} s, {measured.added_mb:.0f} MB of memory added")
    table = Table("text", "characters", "p50 ms", "p99 ms")
    for kind, characters, p50_ms, p99_ms in measured.rows:
        table.add_row(kind, str(characters), f"{p50_ms:.3f}", f"{p99_ms:.3f}")
    console.print(table)


def main() -> None:
    """Runs the command line; an error of the router ends it with one sentence."""
    try:
        app()
    except RouterError as error:
        Console(stderr=True, soft_wrap=True).print(f"error: {error}", markup=False)
        raise SystemExit(1) from error


def _print_report(trained: dict[str, Any]) -> None:
    console.print(f"label: {trained['label']}", markup=False)
    difficulty = trained["difficulty"]
    columns = ("auc", "apgr", "ece", "brier")
    table = Table("difficulty", "data", *columns)
    for part in (
        "held_out_questions",
        "held_out_questions_without_options",
        "held_out_subjects",
    ):
        _add_rows(table, part, difficulty[part], columns)
    for name, scores in difficulty["baselines"].items():
        _add_rows(table, f"baseline: {name} alone", scores, columns)
    console.print(table)
    table = Table("good_enough", "share to strong", "quality kept")
    for row in difficulty["thresholds"]:
        table.add_row(*(f"{row[name]:.2f}" for name in ("threshold", "strong_share", "quality")))
    console.print(table)
    console.print_json(json.dumps(trained["length"]))


def _add_rows(
    table: Table, title: str, scores: dict[str, dict[str, float]], columns: tuple[str, ...]
) -> None:
    for dataset, values in scores.items():
        cells = (f"{values[name]:.3f}" if name in values else "" for name in columns)
        table.add_row(title.replace("_", " "), dataset, *cells)
