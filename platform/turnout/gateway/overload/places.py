"""How many of a model's requests this gateway may have running. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnout.gateway.replicas import Replica


@dataclass(frozen=True)
class Places:
    """What replicas can run at once, as far as it is this gateway's to use."""

    count: int | None
    """None where a replica has not told how many it runs."""
    is_pressed: bool = False
    """Whether requests wait inside an engine."""


def places_of(replicas: Sequence[Replica], own: int, gateways: int) -> Places:
    """Returns this gateway's places on the ready replicas of a model.

    Of several gateways each sees the others only in what engines tell: what they have beyond our
    `own` requests of the last seconds is others'. Where they have taken all, each still has its
    share, so that they meet there.
    """
    ready = [each for each in replicas if not each.is_draining]
    loads = [each.load for each in ready if each.load is not None]
    is_pressed = any(load.waiting for load in loads)
    places = 0
    for replica in ready:
        if replica.max_running is None:
            return Places(None, is_pressed)
        places += replica.max_running
    if gateways > 1:
        others = max(0, sum(load.waiting + load.running for load in loads) - own)
        places = max(places - others, -(-places // gateways))
    return Places(places, is_pressed)
