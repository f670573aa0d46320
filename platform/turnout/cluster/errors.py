"""What can go wrong when the local cluster starts or stops.

ClusterError
├── PortTaken           another process holds a port
├── NotRunning          there is no cluster of ours
├── RunDirTooLong       the run folder's path is too long for sockets
├── TlsNotServed        the file wants TLS, which the local cluster does not speak
├── AddressChanged      the file wants another address than the running cluster's
├── RayDidNotStart      `ray start` failed
├── ServeRefused        Serve's REST API answered with an error
├── DeployFailed        an application failed to start
└── NotReadyInTime      it takes longer than the user wants to wait
"""

from collections.abc import Sequence

from turnout.errors import TurnoutError


class ClusterError(TurnoutError):
    """The root of the local cluster's errors."""


class PortTaken(ClusterError):
    """A port that the cluster needs is held by another process."""

    def __init__(self, port: int, purpose: str, holder: str) -> None:
        super().__init__(port, purpose, holder)
        self.port, self.purpose, self.holder = port, purpose, holder

    def __str__(self) -> str:
        return (
            f"port {self.port} ({self.purpose}) is held by {self.holder}: "
            "stop it, or choose another port (docs/architecture.md, The processes)"
        )


class NotRunning(ClusterError):
    """No cluster started by `turnout up` is running."""

    def __str__(self) -> str:
        return "nothing is running: start it with `turnout up`"


class RunDirTooLong(ClusterError):
    """The run folder's path leaves no room for the sockets below it."""

    def __init__(self, path: str, limit_bytes: int) -> None:
        super().__init__(path, limit_bytes)
        self.path, self.limit_bytes = path, limit_bytes

    def __str__(self) -> str:
        return (
            f"the run folder {self.path} is longer than {self.limit_bytes} bytes, and unix sockets "
            "lie below it: set TURNOUT_RUN_DIR to a shorter path"
        )


class TlsNotServed(ClusterError):
    """The file has a TLS certificate: Serve's HAProxy would listen without it, silently."""

    def __str__(self) -> str:
        return (
            "http_options: `turnout up` serves plain HTTP on this machine: take ssl_certfile and "
            "ssl_keyfile out; docs/security.md says where TLS ends elsewhere"
        )


class AddressChanged(ClusterError):
    """The file wants another address than the running cluster has."""

    def __init__(self, running: str, wanted: str) -> None:
        super().__init__(running, wanted)
        self.running, self.wanted = running, wanted

    def __str__(self) -> str:
        return (
            f"the running deployment answers at {self.running}, the file says {self.wanted}: "
            "`turnout down` first, an address does not change while running"
        )


class RayDidNotStart(ClusterError):
    """`ray start` ended with an error."""

    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output

    def __str__(self) -> str:
        return f"ray start failed:\n{self.output}"


class ServeRefused(ClusterError):
    """Serve's REST API refused a call or cannot be reached."""

    def __init__(self, call: str, problem: str) -> None:
        super().__init__(call, problem)
        self.call, self.problem = call, problem

    def __str__(self) -> str:
        hint = "if it stays so, `turnout down` and start anew"
        return f"Serve's API ({self.call}): {self.problem}; {hint}"


class DeployFailed(ClusterError):
    """Applications failed to start; `failures` has (application, Serve's message)."""

    def __init__(self, failures: Sequence[tuple[str, str]]) -> None:
        super().__init__(failures)
        self.failures = tuple(failures)

    def __str__(self) -> str:
        told = "\n".join(f"application '{name}': {message}" for name, message in self.failures)
        return f"{told}\nsee `turnout logs`; `turnout down` stops what runs"


class NotReadyInTime(ClusterError):
    """Not everything was ready when the waiting time was over."""

    def __init__(self, timeout_s: float, waiting: Sequence[str]) -> None:
        super().__init__(timeout_s, waiting)
        self.timeout_s, self.waiting = timeout_s, tuple(waiting)

    def __str__(self) -> str:
        names = ", ".join(self.waiting)
        return (
            f"not ready after {self.timeout_s:g} s: {names}; "
            "see `turnout status` and `turnout logs`"
        )
