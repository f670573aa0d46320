"""The way past all gateways: what measuring it beside itself shows is noise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from turnout_load.bench.gateway.system import Endpoint, Stage

MODEL = "small"


def endpoint_of(mock: str) -> Endpoint:
    """Returns the mock's own endpoint."""
    return Endpoint(f"{mock}/v1", MODEL)


class Direct:
    """No gateway."""

    name = "direct"
    locks: str | None = None

    @contextmanager
    def started(self, stage: Stage) -> Iterator[Endpoint]:
        """Starts nothing."""
        yield endpoint_of(stage.mock)
