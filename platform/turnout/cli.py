"""The `turnout` command."""

import sys

import typer

from turnout.admin.cli import audit_app, keys_app, teams_app
from turnout.cluster.cli import add_commands
from turnout.config.cli import config_app
from turnout.errors import TurnoutError
from turnout.models.cli import models_app
from turnout.usage.cli import add_usage

app = typer.Typer(
    help="Serve several LLMs behind one URL.", no_args_is_help=True, pretty_exceptions_enable=False
)
add_commands(app)
app.add_typer(config_app, name="config", help="Check and explain config files.")
app.add_typer(keys_app, name="keys", help="Make, list, rotate and revoke keys.")
app.add_typer(teams_app, name="teams", help="Set the teams' models and limits.")
app.add_typer(audit_app, name="audit", help="Show and verify what was done with keys and teams.")
app.add_typer(models_app, name="models", help="Fetch and list model weights.")
add_usage(app)


def main() -> None:
    """Runs the command; what went wrong is told in a sentence, with exit code 1."""
    try:
        app()
    except TurnoutError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        typer.echo(
            f"error: {error.strerror or error}: {error.filename or ''}".rstrip(": "), err=True
        )
        sys.exit(1)
