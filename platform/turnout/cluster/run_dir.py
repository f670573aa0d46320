"""The folder that holds everything of the running cluster: its record, token, sockets and logs."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from turnout.cluster.errors import NotRunning, RunDirTooLong

MAX_PATH_BYTES = 27
"""HAProxy's socket lies 80 bytes deeper, below a 56-digit node id; 107 is a socket path's limit."""


@dataclass(frozen=True)
class Run:
    """One running cluster, as `turnout up` recorded it."""

    id: str
    config: str
    http_host: str
    http_port: int
    gcs_port: int
    dashboard_port: int
    started_at: str
    ports: tuple[int, ...]
    admin_url: str = ""
    """Where the admin API answers; empty where the deployment has none."""
    admin_key_file: str = ""

    @property
    def url(self) -> str:
        """Where the gateway answers."""
        host = "127.0.0.1" if self.http_host == "0.0.0.0" else self.http_host
        return f"http://{host}:{self.http_port}"

    @property
    def dashboard(self) -> str:
        """Where Ray's dashboard and Serve's REST API answer."""
        return f"http://127.0.0.1:{self.dashboard_port}"


class RunDir:
    """`$TURNOUT_RUN_DIR`, by default a folder of this user's in /tmp.

    Short on purpose: Ray puts unix sockets below it, whose paths may have 107 bytes.
    """

    def __init__(self, path: Path | None = None) -> None:
        default = f"/tmp/turnout-{os.getuid()}"
        self.path = path or Path(os.environ.get("TURNOUT_RUN_DIR") or default)

    def create(self) -> None:
        """Makes the folder, for this user alone.

        Raises `RunDirTooLong`, or PermissionError if the folder is another user's.
        """
        if len(os.fsencode(self.path)) > MAX_PATH_BYTES:
            raise RunDirTooLong(str(self.path), MAX_PATH_BYTES)
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.stat().st_uid != os.getuid():
            raise PermissionError(f"{self.path} belongs to another user: set TURNOUT_RUN_DIR")
        self.path.chmod(0o700)

    @property
    def token_path(self) -> Path:
        """The file with Ray's authentication token."""
        return self.path / "ray-token"

    @property
    def replica_key_path(self) -> Path:
        """The file with the key of the replicas' own ports."""
        return self.path / "replica-key"

    @property
    def ray(self) -> Path:
        """Ray's own folder (sessions, sockets, logs)."""
        return self.path / "ray"

    @property
    def haproxy(self) -> Path:
        """HAProxy's configuration, state and socket."""
        return self.path / "h"

    @property
    def logs(self) -> Path:
        """The running session's log folder."""
        return self.ray / "session_latest" / "logs"

    def token(self) -> str:
        """Returns the token, made at the first call (mode 600)."""
        if not self.token_path.exists():
            _write_secret(self.token_path)
        return self.token_path.read_text().strip()

    def renew_replica_key(self) -> None:
        """Makes the replicas' key anew (mode 600): each run has its own."""
        self.replica_key_path.unlink(missing_ok=True)
        _write_secret(self.replica_key_path)

    def save(self, run: Run) -> None:
        """Records the running cluster."""
        part = self.path / "run.json.part"
        part.write_text(json.dumps(asdict(run), indent=2))
        part.replace(self.path / "run.json")

    def run(self) -> Run:
        """Returns the recorded cluster; raises `NotRunning` when there is none."""
        try:
            record = json.loads((self.path / "run.json").read_text())
        except FileNotFoundError:
            raise NotRunning from None
        return Run(**{**record, "ports": tuple(record["ports"])})

    def forget(self) -> None:
        """Removes the record."""
        (self.path / "run.json").unlink(missing_ok=True)


def _write_secret(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
