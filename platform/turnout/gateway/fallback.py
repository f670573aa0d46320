"""Which models stand in for one that cannot answer. Pure."""

from collections.abc import Callable, Sequence

from turnout.gateway.order import Order
from turnout.gateway.replicas import Replica
from turnout.gateway.request import GenerationRequest
from turnout.gateway.upstream.outbound import unknown_to


def fallbacks(order: Order, replicas: Callable[[str], Sequence[Replica]]) -> list[str]:
    """Returns the models that may answer instead, in the operator's order.

    Each is one that the caller may use, that can do what the request asks for, that is ready now
    and whose window holds the prompt.
    """
    names = order.catalog.model(order.model).fallbacks
    return [name for name in names if may_answer(order, name, replicas)] if names else []


def may_answer(order: Order, name: str, replicas: Callable[[str], Sequence[Replica]]) -> bool:
    """Tells whether another model may answer an order, and could now."""
    account, model, request = order.exchange.account, order.catalog.model(name), order.request
    return (
        (account is None or account.caller.may_use(name))
        and request.capabilities <= frozenset(model.capabilities)
        and not unknown_to(model, request)
        and any(_holds(replica, request) for replica in replicas(name))
    )


def _holds(replica: Replica, request: GenerationRequest) -> bool:
    is_long_enough = replica.context_window >= request.prompt_tokens_at_most
    return is_long_enough and not replica.is_draining
