"""Checks of pools: what the gateway uses, what the application has, what it can do."""

from collections.abc import Iterator

from turnout.config.model_args import ModelArgs, ReplicaArgs
from turnout.config.problems import Problem, path_of
from turnout.config.view import App, Offer, View, text

_TOOL_ARGS = {"enable_auto_tool_choice": "true", "tool_call_parser": "hermes (or the model's own)"}


def check_pools(view: View) -> Iterator[Problem]:
    """Finds pools that only one side knows, entries given twice and empty promises."""
    offers = {
        offer.settings.application: offer
        for offer in view.offers
        if offer.settings and offer.settings.application
    }
    for host in view.hosts:
        yield from _entries(view, host)
        offer = offers.get(host.name or "")
        if offer and offer.settings and host.args:
            yield from _both_sides(view, host, host.args, offer)
            if isinstance(host.args, ModelArgs):
                yield from _tools(view, host.args, offer)
            else:
                yield from _only_embeddings(view, host, offer)


def _entries(view: View, host: App) -> Iterator[Problem]:
    """Deployment entries: one per pool at most, none without a pool."""
    seen: set[str] = set()
    for loc, entry in host.deployments:
        name = text(entry.get("name"))
        if name is None:
            continue
        if name in seen:
            message = "a second entry for this pool: Serve keeps only one"
            yield view.document.problem((*loc, "name"), name, message)
        elif host.args and name not in host.args.pools:
            message = f"not among the model's pools ({_listed(host.args)}) in args.pools"
            yield view.document.problem((*loc, "name"), name, message)
        seen.add(name)


def _both_sides(view: View, host: App, args: ReplicaArgs, offer: Offer) -> Iterator[Problem]:
    loc, used = (*offer.loc, "pools"), offer.settings.pools if offer.settings else ()
    for index, market in enumerate(used):
        if market in used[:index]:
            yield view.document.problem((*loc, index), market, "given twice: keep one")
        elif market not in args.pools:
            message = (
                f"application '{host.name}' has no such pool ({_listed(args)}): add it to "
                f"{path_of((*host.loc, 'args', 'pools'))} or remove it here"
            )
            yield view.document.problem((*loc, index), market, message)
    for market in args.pools:
        if market not in used:
            message = f"its replicas would get no request: add '{market}' to {path_of(loc)}"
            yield view.document.problem((*host.loc, "args", "pools", market), None, message)


def _tools(view: View, args: ModelArgs, offer: Offer) -> Iterator[Problem]:
    """VLLM answers 400 to `tool_choice: auto` unless it was started with a parser."""
    capabilities = offer.settings.capabilities if offer.settings else ()
    missing = [
        f"{key}: {value}" for key, value in _TOOL_ARGS.items() if not args.engine_args.get(key)
    ]
    if "tools" in capabilities and missing:
        loc = (*offer.loc, "capabilities", capabilities.index("tools"))
        message = f"the engine has no tool parser: add {' and '.join(missing)} to its engine_args"
        yield view.document.problem(loc, "tools", message)


def _only_embeddings(view: View, host: App, offer: Offer) -> Iterator[Problem]:
    capabilities = list(offer.settings.capabilities) if offer.settings else []
    if capabilities != ["embeddings"]:
        loc = (*offer.loc, "capabilities")
        message = f"application '{host.name}' only makes embeddings: [embeddings]"
        yield view.document.problem(loc, capabilities, message)


def _listed(args: ReplicaArgs) -> str:
    return ", ".join(args.pools)
