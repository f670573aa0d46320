"""Checks of ports: none is used twice, none lies where Ray takes its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from pydantic import ValidationError

from turnout.config.problems import Loc, Problem, path_of
from turnout.config.serve_schema import HttpOptions
from turnout.config.view import View, mapping

_RAY_WORKERS = (10002, 19999)
_TAKEN = {
    6379: "Ray's head node",
    8265: "Ray's dashboard",
    8404: "HAProxy's statistics",
    9101: "HAProxy's metrics",
}


@dataclass(frozen=True)
class _Ports:
    loc: Loc
    low: int
    high: int

    def overlaps(self, low: int, high: int) -> bool:
        return self.low <= high and low <= self.high

    @property
    def value(self) -> object:
        return self.low if self.low == self.high else [self.low, self.high]


def check_ports(view: View) -> Iterator[Problem]:
    """Finds ports that two parts of the deployment would take."""
    used = list(_used(view))
    for first, second in combinations(used, 2):
        if first.overlaps(second.low, second.high):
            message = f"overlaps the ports of {path_of(first.loc)} ({first.value}): choose others"
            yield view.document.problem(second.loc, second.value, message)
    for ports in used:
        if ports.overlaps(*_RAY_WORKERS):
            message = "Ray's workers take ports 10002 to 19999: choose lower or higher ones"
            yield view.document.problem(ports.loc, ports.value, message)
        for port, owner in _TAKEN.items():
            if ports.overlaps(port, port):
                message = f"port {port} belongs to {owner}: choose others"
                yield view.document.problem(ports.loc, ports.value, message)


def _used(view: View) -> Iterator[_Ports]:
    root = mapping(view.document.data)
    try:
        port = HttpOptions.model_validate(root.get("http_options", {})).port
        yield _Ports(("http_options", "port"), port, port)
    except ValidationError:
        pass  # reported by the file's own validation
    grpc = mapping(root.get("grpc_options"))
    grpc_port = grpc.get("port", 9000)  # Serve's default
    if grpc.get("grpc_servicer_functions") and isinstance(grpc_port, int):
        yield _Ports(("grpc_options", "port"), grpc_port, grpc_port)
    for app in view.of_kind("gateway"):
        for loc, entry in app.deployments:
            own = mapping(entry.get("user_config")).get("port")
            if entry.get("name") == "Admin" and isinstance(own, int):
                yield _Ports((*loc, "user_config", "port"), own, own)
    for host in view.hosts:
        if host.args and host.args.http_port_range:
            yield _Ports((*host.loc, "args", "http_port_range"), *host.args.http_port_range)
