"""`turnout models fetch` and `turnout models list`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as ProgressBar
from rich.table import Table

from turnout.errors import TurnoutError
from turnout.models import cache as caches
from turnout.models.errors import BadSourcesFile
from turnout.models.fetch import ensure_model
from turnout.models.progress import Progress
from turnout.models.source import parse

models_app = typer.Typer(no_args_is_help=True, help="Fetch models and list those that are here.")

CacheOption = Annotated[
    Path | None, typer.Option("--cache", help="Folder of converted models, in place of the usual.")
]


@models_app.command()
def fetch(
    wanted: Annotated[
        list[str], typer.Argument(help="A deployment's YAML file, or a model source.")
    ],
    cache: CacheOption = None,
) -> None:
    """Get models ready before an engine needs them."""
    console = Console(stderr=True)
    try:
        for sources in [each for text in wanted for each in sources_of(text)]:
            typer.echo(_fetch_one(sources, cache, console))
    except TurnoutError as error:
        console.print(f"error: {error}", style="red", markup=False, highlight=False)
        raise typer.Exit(1) from error


@models_app.command("list")
def list_models(cache: CacheOption = None) -> None:
    """Show the models that were fetched from packages and converted."""
    folder = cache or caches.default_cache()
    table = Table("name", "source", "size", "path", title=f"models in {folder}")
    for model in caches.models(folder):
        table.add_row(model.name, model.source, f"{model.size / 1e6:,.0f} MB", str(model.path))
    if not table.row_count:
        typer.echo(f"no models in {folder}; `turnout models fetch CONFIG` gets them")
        return
    Console().print(table)


def sources_of(text: str) -> list[list[str]]:
    """The source lists that one argument names: one per application of a file, or the text itself.

    Raises InvalidSource, or BadSourcesFile when the file is no deployment.
    """
    path = Path(text)
    if path.suffix not in {".yaml", ".yml"}:
        parse(text)
        return [[text]]
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadSourcesFile(path, f"cannot be read: {error}") from error
    found = sources_in(document)
    if not found:
        raise BadSourcesFile(path, "no application in it has args.sources")
    return found


def sources_in(document: object) -> list[list[str]]:
    """`applications[*].args.sources` of a parsed file; whatever else it holds is passed over."""
    lists = [_dig(application, "args", "sources") for application in _list(document)]
    return [[str(source) for source in sources] for sources in lists if isinstance(sources, list)]


def _list(document: object) -> list[Any]:
    applications = _dig(document, "applications")
    return applications if isinstance(applications, list) else []


def _dig(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _fetch_one(sources: Sequence[str], cache: Path | None, console: Console) -> str:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeElapsedColumn(),
    )
    with ProgressBar(*columns, console=console) as bars:
        tasks: dict[str, Any] = {}

        def show(report: Progress) -> None:
            name = f"{report.stage} {short(report.source)}"
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=None)
            bars.update(tasks[name], completed=report.done_bytes, total=report.total_bytes)

        return ensure_model(sources, cache=cache, progress=show)


def short(source: str) -> str:
    """A source without what only machines read: the hash, and the packages a file is cut over."""
    address, _, fragment = source.partition("#")
    return fragment.partition("?")[0] or os.path.basename(address.rstrip("/")) or source
