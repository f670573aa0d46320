"""What the commands print: tables for people, JSON for programs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


def as_json(value: Any) -> None:
    """Prints JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], empty: str) -> None:
    """Prints a table, or a sentence where there are no rows."""
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    console = Console(highlight=False, markup=False, emoji=False)
    if drawn.row_count:
        console.print(drawn)
    else:
        console.print(empty)


def moment(at_s: float | None) -> str:
    """Returns a moment in UTC to the minute; `never` where there is none."""
    return "never" if at_s is None else f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M}"


def names(values: Sequence[str] | None) -> str:
    """Returns a list of models; `all` where it is open."""
    return "all" if values is None else ", ".join(values) or "none"


def limits(values: Mapping[str, Any]) -> str:
    """Returns the limits that are set, as `--limit` takes them."""
    told = [
        f"{name}={int(value) if value == int(value) else value}"
        for name, value in values.items()
        if value is not None and name != "alert_share"
    ]
    return ", ".join(told) or "none"
