"""`turnout up | down | status | logs | env`."""

import json
import subprocess
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from turnout.cluster.engines import engine_addresses
from turnout.cluster.errors import NotRunning, ServeRefused
from turnout.cluster.processes import listening, memory_bytes, processes_of
from turnout.cluster.progress import Progress
from turnout.cluster.ray_head import auth_environment
from turnout.cluster.report import addresses, ready_text, status_text
from turnout.cluster.run_dir import RunDir
from turnout.cluster.serve_api import ServeApi

Config = Annotated[Path, typer.Argument(help="The deployment's config file.")]
_LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")


def up_command(
    config: Config = Path("deployments/local.yaml"),
    timeout_s: Annotated[float, typer.Option(help="Longest wait for the engines.")] = 900,
) -> None:
    """Start the deployment of CONFIG on this machine, or change the running one to it."""
    from turnout.cluster.first_key import first_key  # noqa: PLC0415 - keeps `--help` fast
    from turnout.cluster.up import up  # noqa: PLC0415
    from turnout.config.load import load  # noqa: PLC0415

    console = Console(highlight=False)
    progress = Progress(console)
    run_dir = RunDir()
    with progress.step("up"):
        run = up(config, run_dir, progress, timeout_s)
    settings = load(config).settings
    key = first_key(run_dir) if settings.keys == "required" else None
    console.print(ready_text(run, run_dir, settings, key), markup=False, soft_wrap=True)


def down_command() -> None:
    """Stop everything that `turnout up` started."""
    from turnout.cluster.up import down  # noqa: PLC0415

    console = Console(highlight=False)
    try:
        ended = down(RunDir(), Progress(console))
    except NotRunning:
        console.print("nothing is running")
        return
    console.print(f"stopped {ended} processes")


def status_command(
    as_json: Annotated[
        bool, typer.Option("--json", help="Only where everything is, as JSON.")
    ] = False,
) -> None:
    """Show applications, pools, engines, processes, memory and ports of what runs."""
    run_dir = RunDir()
    run = run_dir.run()
    processes = processes_of(run.id)
    if not processes:
        raise NotRunning
    engines = engine_addresses(processes, run_dir.replica_key_path)
    if as_json:
        typer.echo(json.dumps(addresses(run, run_dir, engines), indent=2))
        return
    try:
        states = ServeApi(run.dashboard, run_dir.token()).applications()
    except ServeRefused as error:
        states = []
        typer.echo(f"{error}\n", err=True)
    ports = listening(processes)
    beyond = [f"{host}:{port}" for host, port, _ in ports if host not in _LOOPBACK]
    facts = {
        **{f"{model} engine": ", ".join(at) for model, at in sorted(engines.items())},
        "processes": str(len(processes)),
        "memory": f"{memory_bytes(processes) / 2**30:.2f} GiB (PSS)",
        "ports": f"{len(ports) - len(beyond)} on 127.0.0.1",
        "beyond": ", ".join(beyond) or "none",
        "logs": str(run_dir.logs / "serve"),
    }
    typer.echo(status_text(run, states, facts))


def logs_command(
    application: Annotated[str, typer.Argument(help="Only this application's logs.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", help="Lines of each file.")] = 50,
) -> None:
    """Show the logs of the applications' replicas and of the Serve controller."""
    folder = RunDir().logs / "serve"
    if not folder.exists():
        raise NotRunning
    files = sorted(file for file in folder.glob("*.log") if application in file.name)
    if not files:
        raise typer.BadParameter(f"no log of '{application}' in {folder}")
    command = ["tail", f"--lines={lines}", *(["--follow"] if follow else []), "--verbose", "--"]
    subprocess.run([*command, *map(str, files)], check=False)


def env_command() -> None:
    """Print the exports that `serve` and `ray` commands need to talk to the running cluster."""
    run_dir = RunDir()
    run = run_dir.run()
    exports = {
        "RAY_ADDRESS": f"127.0.0.1:{run.gcs_port}",
        "RAY_DASHBOARD_ADDRESS": run.dashboard,
        "RAY_API_SERVER_ADDRESS": run.dashboard,
        **auth_environment(run_dir),
    }
    for name, value in exports.items():
        typer.echo(f"export {name}={value}")


def add_commands(app: typer.Typer) -> None:
    """Adds the cluster's commands to the main app."""
    app.command("up")(up_command)
    app.command("down")(down_command)
    app.command("status")(status_command)
    app.command("logs")(logs_command)
    app.command("env")(env_command)
