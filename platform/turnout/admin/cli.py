"""`turnout keys`, `turnout teams` and `turnout audit`."""

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from turnout.admin import show
from turnout.admin.client import AdminClient, admin_target
from turnout.admin.options import limits, seconds

keys_app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
teams_app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
audit_app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the key and nothing else.")]
Models = Annotated[list[str] | None, typer.Option("--model", help="A model it may use; repeat.")]
SetLimits = Annotated[
    list[str] | None,
    typer.Option("--limit", help="NAME=VALUE, such as tokens_per_minute=100000; repeat."),
]
KeyId = Annotated[str, typer.Argument(help="The key's public id (in `sk-ID-…`).")]
TeamName = Annotated[str, typer.Argument(help="The team's name.")]


def _client() -> AdminClient:
    return AdminClient(admin_target())


@keys_app.command("create")
def create_key(  # noqa: PLR0913, PLR0917 - a command's options are its arguments
    team: Annotated[str, typer.Option(help="Whose key it is.")],
    name: Annotated[str, typer.Option(help="What it is for.")] = "unnamed",
    scope: Annotated[
        list[str] | None, typer.Option(help="inference (default), batch or usage; repeat.")
    ] = None,
    model: Models = None,
    limit: SetLimits = None,
    expires_in: Annotated[str, typer.Option(help="How long it works, such as 90d.")] = "",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make a key; it is shown this once."""
    body: dict[str, Any] = {"team": team, "name": name, "limits": limits(limit or [])}
    if scope:
        body["scopes"] = scope
    if model:
        body["models"] = model
    if expires_in:
        body["expires_in_s"] = seconds("--expires-in", expires_in)
    _show_made(_client().call("POST", "/admin/keys", body), quiet, as_json)


@keys_app.command("list")
def list_keys(
    team: Annotated[str | None, typer.Option(help="Only this team's.")] = None,
    as_json: AsJson = False,
) -> None:
    """List keys, never their secrets."""
    keys = list(_client().pages("/admin/keys", "after", team=team))
    if as_json:
        show.as_json(keys)
        return
    columns = ("id", "team", "name", "status", "expires (UTC)", "scopes", "models", "limits")
    rows = [
        (
            key["id"],
            key["team"],
            key["name"],
            key["status"],
            show.moment(key["expires_at_s"]),
            ", ".join(key["scopes"]),
            show.names(key["models"]),
            show.limits(key["limits"]),
        )
        for key in keys
    ]
    show.table(columns, rows, "no keys: make one with `turnout keys create`")


@keys_app.command("rotate")
def rotate_key(
    key_id: KeyId,
    overlap: Annotated[str, typer.Option(help="How long the old key still works.")] = "1d",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make a key in another's place; it is shown this once."""
    body = {"overlap_s": seconds("--overlap", overlap)}
    path = f"/admin/keys/{quote(key_id, safe='')}/rotate"
    _show_made(_client().call("POST", path, body), quiet, as_json)


@keys_app.command("revoke")
def revoke_key(key_id: KeyId, as_json: AsJson = False) -> None:
    """End a key: gateways stop taking it within seconds."""
    key = _client().call("POST", f"/admin/keys/{quote(key_id, safe='')}/revoke")
    if as_json:
        show.as_json(key)
    else:
        typer.echo(f"revoked {key['id']} ({key['name']}, team {key['team']})")


@teams_app.command("set")
def set_team(
    name: TeamName, model: Models = None, limit: SetLimits = None, as_json: AsJson = False
) -> None:
    """Make a team, or change it to exactly these models and limits."""
    body = {"models": model or None, "limits": limits(limit or [])}
    team = _client().call("PUT", f"/admin/teams/{quote(name, safe='')}", body)
    if as_json:
        show.as_json(team)
    else:
        told = f"models: {show.names(team['models'])}; limits: {show.limits(team['limits'])}"
        typer.echo(f"team {team['name']}: {told}")


@teams_app.command("list")
def list_teams(as_json: AsJson = False) -> None:
    """List teams."""
    teams = list(_client().pages("/admin/teams", "after"))
    if as_json:
        show.as_json(teams)
        return
    rows = [
        (
            team["name"],
            show.names(team["models"]),
            show.limits(team["limits"]),
            show.moment(team["created_at_s"]),
        )
        for team in teams
    ]
    show.table(
        ("team", "models", "limits", "created (UTC)"),
        rows,
        "no teams: make one with `turnout teams set NAME`",
    )


@teams_app.command("delete")
def delete_team(name: TeamName) -> None:
    """Delete a team that has no live keys."""
    _client().call("DELETE", f"/admin/teams/{quote(name, safe='')}")
    typer.echo(f"deleted team {name}")


@audit_app.command("list")
def list_audit(
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=1000, help="How many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List what was done to keys and teams, newest first."""
    rows = _client().call("GET", "/admin/audit", limit=lines)["data"]
    if as_json:
        show.as_json(rows)
        return
    told = [
        (
            str(row["sequence"]),
            show.moment(row["at_s"]),
            row["actor"],
            row["act"],
            row["subject"],
            _changes(row["before"], row["after"]),
        )
        for row in rows
    ]
    show.table(("#", "when (UTC)", "who", "what", "whom", "change"), told, "nothing was done yet")


@audit_app.command("verify")
def verify_audit(
    head: Annotated[
        str | None, typer.Option(help="A hash noted earlier, whose row must still be there.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that nobody changed the audit log; exit code 1 where somebody did."""
    verdict = _client().call("GET", "/admin/audit/verify", head=head)
    if as_json:
        show.as_json(verdict)
    elif verdict["is_whole"]:
        typer.echo(f"the log is whole: {verdict['rows']} rows, head {verdict['head']}")
    else:
        typer.echo(f"broken at row {verdict['broken_at']}: {verdict['problem']}", err=True)
    if not verdict["is_whole"]:
        raise typer.Exit(1)


def _show_made(key: dict[str, Any], quiet: bool, as_json: bool) -> None:
    if quiet:
        typer.echo(key["key"])
    elif as_json:
        show.as_json(key)
    else:
        typer.echo(f"{key['key']}\n", nl=True)
        typer.echo(
            f"id {key['id']}, team {key['team']}, expires {show.moment(key['expires_at_s'])}; "
            "keep the key now, it is not shown again"
        )


def _changes(before: str | None, after: str | None) -> str:
    """Returns the fields that differ, as `name: old → new`."""
    old, new = json.loads(before or "{}"), json.loads(after or "{}")
    if not (old and new):
        return "deleted" if old else "new"
    differ = [name for name in new if new[name] != old.get(name)]
    return ", ".join(f"{name}: {old.get(name)} → {new[name]}" for name in differ) or "none"
