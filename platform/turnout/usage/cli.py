"""`turnout usage`: what teams used and what it cost, from the admin API."""

import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from turnout.admin import show
from turnout.admin.client import AdminClient, admin_target

From = Annotated[
    str | None, typer.Option("--from", help="A date, time or seconds since 1970; UTC.")
]
_SUMS = {
    "requests": "requests",
    "prompt_tokens": "prompt tokens",
    "cached_tokens": "cached",
    "completion_tokens": "output tokens",
    "list_cost_usd": "list cost",
    "true_cost_usd": "true cost",
}
_POOL_COLUMNS = ("replica hours", "idle", "cost", "output tokens", "per 1M output", "per 1M all")


def usage_command(  # noqa: PLR0913, PLR0917 - a command's options are its arguments
    start: From = None,
    end: Annotated[str | None, typer.Option("--to", help="Until before then; now.")] = None,
    team: Annotated[str | None, typer.Option(help="Only this team's.")] = None,
    key: Annotated[str | None, typer.Option(help="Only this key's, by its id.")] = None,
    by: Annotated[
        str, typer.Option(help="Some of team, key, model, market, endpoint: team,model.")
    ] = "team",
    bucket: Annotated[str | None, typer.Option(help="A line for each hour or day.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    records: Annotated[bool, typer.Option("--records", help="Every record, as CSV.")] = False,
) -> None:
    """Show what teams used and what it cost, by default in the last 24 hours."""
    client = AdminClient(admin_target())
    which = {"from": start, "to": end, "team": team, "key": key}
    if records:
        _write(client.pieces("GET", "/admin/usage/records", None, **which))
        return
    asked = {**which, "group_by": by, "bucket": bucket}
    if as_csv:
        _write(client.pieces("GET", "/admin/usage", None, **asked, format="csv"))
        return
    report = client.call("GET", "/admin/usage", None, **asked)
    if as_json:
        show.as_json(report)
        return
    _show(report)


def _show(report: dict[str, Any]) -> None:
    typer.echo(f"{report['from']} to {report['to']}\n")
    start = ["start"] if report["bucket"] else []
    groups = [*start, *report["group_by"]]
    rows = [_line(row, [str(row[name]) for name in groups]) for row in report["data"]]
    if rows:
        blank = ["total", *[""] * (len(groups) - 1)] if groups else []
        rows = [*rows, _line(report["total"], blank)] if groups else rows
    show.table((*groups, *_SUMS.values()), rows, "no usage in this time")
    if report["pools"]:
        typer.echo("\nWhat pools cost, idle time included:\n")
        names = (*start, "model", "market")
        pools = [[pool[name] for name in names] + _pool(pool) for pool in report["pools"]]
        show.table((*names, *_POOL_COLUMNS), pools, "")


def _line(row: dict[str, Any], groups: list[str]) -> list[str]:
    sums = [_usd(row[name]) if name.endswith("_usd") else f"{row[name]:,}" for name in _SUMS]
    return [*groups, *sums]


def _pool(pool: dict[str, Any]) -> list[str]:
    idle = pool["idle_share"]
    return [
        f"{pool['replica_hours']:,.2f}",
        "?" if idle is None else f"{idle:.0%}",
        _usd(pool["cost_usd"]),
        f"{pool['completion_tokens']:,}",
        _usd(pool["true_usd_per_million_output_tokens"]),
        _usd(pool["true_usd_per_million_tokens"]),
    ]


def _usd(value: float | None) -> str:
    """Returns dollars with cents, or with three digits where it is less than one."""
    if value is None:
        return "-"
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.3g}"


def _write(pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def add_usage(app: typer.Typer) -> None:
    """Adds the command to the main app."""
    app.command("usage")(usage_command)
