"""One float32 system for every end-to-end test: real engines, started by `turnout up`, once."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import openai
import psutil
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.engine_metrics import running_at

from turnout.cluster.engines import engine_addresses
from turnout.cluster.processes import processes_of
from turnout.cluster.run_dir import Run, RunDir

REPOSITORY = Path(__file__).parents[2]
TURNOUT = Path(sys.executable).with_name("turnout")
HTTP_PORT, DASHBOARD_PORT, ADMIN_PORT = 8123, 8266, 8124
START_TIMEOUT_S = 900
SMALL_WINDOW = 512


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs engines; what tears the system down runs last."""
    here = [item for item in items if item.path.parent == Path(__file__).parent]
    for item in here:
        item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item in here and "stop" in item.path.name)


@dataclass
class System:
    """The running deployment, as a user has it: a config file, a URL, the commands."""

    config: Path
    environment: dict[str, str]
    run_dir: RunDir
    up_output: str = ""
    engines: dict[str, list[str]] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        """What `turnout up` recorded."""
        return self.run_dir.run()

    @property
    def url(self) -> str:
        """The gateway's base URL."""
        return f"http://127.0.0.1:{HTTP_PORT}"

    @cached_property
    def key(self) -> str:
        """The key that `turnout up` made and printed."""
        found = re.search(r"export TURNOUT_KEY=(sk-\S+)", self.up_output)
        assert found, self.up_output
        return found[1]

    @cached_property
    def http(self) -> httpx.Client:
        """A client that sends the key."""
        no_reuse = httpx.Limits(max_keepalive_connections=0)
        headers = {"authorization": f"Bearer {self.key}"}
        return httpx.Client(headers=headers, limits=no_reuse, trust_env=False)

    def settings(self) -> dict[str, Any]:
        """Returns the config file, to be changed and written again."""
        loaded: dict[str, Any] = yaml.safe_load(self.config.read_text())
        return loaded

    def write(self, settings: dict[str, Any]) -> None:
        """Writes the config file."""
        self.config.write_text(yaml.safe_dump(settings, sort_keys=False))

    def command(self, *words: str, timeout_s: float = START_TIMEOUT_S) -> str:
        """Runs a command of the environment, such as `turnout` or `serve`; returns its output."""
        program = str(Path(sys.executable).with_name(words[0]))
        done = subprocess.run(
            [program, *words[1:]],
            env=self.environment,
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def serve_deploy(self) -> None:
        """Deploys the file as it is now, as a platform engineer does it."""
        exports = self.command("turnout", "env").splitlines()
        variables = dict(line.removeprefix("export ").split("=", 1) for line in exports)
        self.environment.update(variables)
        self.command("serve", "deploy", str(self.config), timeout_s=120)

    def metric(self, name: str, **labels: str) -> float:
        """Returns a metric's value summed over the gateways."""
        page = self.http.get(f"{self.url}/metrics", timeout=10).text
        return sum(
            sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def engine_pids(self) -> dict[str, set[int]]:
        """Returns the process ids of every engine, by Serve's name of its replica."""
        found: dict[str, set[int]] = {}
        for process in processes_of(self.run.id):
            # One that is just ending may be an orphan, or gone at the next look.
            with contextlib.suppress(psutil.Error):
                if process.name().startswith("VLLM::"):
                    titles = [_title(p) for p in process.parents() if p.name().startswith("ray::")]
                    # `ray::ServeReplica:small:reserved` has the application's name in it
                    found.setdefault((titles or ["ending"])[0], set()).add(process.pid)
        return found

    def replica_urls(self) -> dict[str, list[str]]:
        """Returns where the replicas of every model answer now."""
        return engine_addresses(processes_of(self.run.id), self.run_dir.replica_key_path)

    def replica_url(self, model: str) -> str:
        """Returns the address of a model's own HTTP port, looked for once: few tests restart it."""
        if model not in self.engines:
            self.engines.update(self.replica_urls())
        return self.engines[model][0]

    def running_requests(self, model: str) -> float:
        """Returns how many requests a model's engine is running, as it says itself."""
        return running_at(self.replica_url(model))


def _title(process: psutil.Process) -> str:
    return " ".join(process.cmdline()).split(".")[0].strip()


@pytest.fixture(scope="session")
def system() -> Iterator[System]:
    """Brings the local deployment up in float32; takes it down at the end whatever happened."""
    folder = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))  # short: sockets lie below it
    settings = yaml.safe_load((REPOSITORY / "deployments/local.yaml").read_text())
    settings["http_options"]["port"] = HTTP_PORT
    settings["applications"][0]["deployments"].append(
        {"name": "Admin", "user_config": {"port": ADMIN_PORT}}
    )
    # So that a prompt beyond it is one that a CPU reads within seconds.
    settings["applications"][1]["args"]["context_window"] = SMALL_WINDOW
    # So that a second replica of it finds room on two cores.
    settings["applications"][1]["args"].update(resources={"CPU": 0.1}, replica_cpus=0.1)
    for application in settings["applications"][1:3]:
        # bfloat16 breaks ties between near-equal tokens differently from batch to batch
        application["args"]["engine_args"]["dtype"] = "float32"
        application["args"]["engine_args"].pop("override_generation_config", None)
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    environment = {
        **os.environ,
        "TURNOUT_RUN_DIR": str(folder / "r"),
        "TURNOUT_DASHBOARD_PORT": str(DASHBOARD_PORT),
        "TURNOUT_STATE_DIR": str(folder / "s"),
    }
    started = System(folder / "config.yaml", environment, RunDir(folder / "r"))
    started.write(settings)
    try:
        started.up_output = started.command("turnout", "up", str(started.config))
        yield started
    finally:
        subprocess.run([TURNOUT, "down"], env=environment, check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def client(system: System) -> openai.OpenAI:
    """The openai client, pointed at the gateway, without retries of its own."""
    return openai.OpenAI(
        base_url=f"{system.url}/v1", api_key=system.key, max_retries=0, timeout=300
    )
