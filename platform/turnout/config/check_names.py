"""Checks of names: applications, models, aliases, tiers, and who refers to whom."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from turnout.config.deployment_file import EMBEDDING_BUILDER, GATEWAY_BUILDER, MODEL_BUILDER
from turnout.config.problems import Loc, Problem, closest, path_of
from turnout.config.settings import AUTO
from turnout.config.view import Offer, View, text


def check_names(view: View) -> Iterator[Problem]:
    """Finds names given twice, reserved ones and references to nothing."""
    yield from _gateway(view)
    yield from _applications(view)
    yield from _public_names(view)
    yield from _hosted_names(view)
    yield from _references(view)
    yield from _tiers(view)


def _gateway(view: View) -> Iterator[Problem]:
    gateways = view.of_kind("gateway")
    if not gateways:
        message = f"no gateway: one application needs import_path '{GATEWAY_BUILDER}'"
        yield view.document.problem(("applications",), None, message)
    for extra in gateways[1:]:
        message = f"a second gateway: {path_of(gateways[0].loc)} is one already, keep one"
        yield view.document.problem((*extra.loc, "import_path"), extra.name, message)
    for app in view.of_kind("other"):
        path = text(app.raw.get("import_path")) or ""
        builders = (GATEWAY_BUILDER, MODEL_BUILDER, EMBEDDING_BUILDER)
        if path.startswith("turnout_deployments."):
            message = f"no such builder: {closest(path, builders)}"
            yield view.document.problem((*app.loc, "import_path"), path, message)


def _applications(view: View) -> Iterator[Problem]:
    names = [((*app.loc, "name"), app.name) for app in view.apps if app.name]
    yield from _repeated(view, names, "application name")
    routes = [
        # Serve takes "/" where an application names no route_prefix.
        ((*app.loc, "route_prefix"), text(app.raw.get("route_prefix", "/")))
        for app in view.apps
        if app.kind in ("gateway", "other")
    ]
    yield from _repeated(view, routes, "route_prefix")


def _public_names(view: View) -> Iterator[Problem]:
    names: list[tuple[Loc, str | None]] = [(offer.loc, offer.name) for offer in view.offers]
    for offer in view.offers:
        aliases = offer.settings.aliases if offer.settings else ()
        places = [(*offer.loc, "aliases", index) for index in range(len(aliases))]
        names.extend(zip(places, aliases, strict=True))
    for loc, name in names:
        if name == AUTO:
            message = "'auto' is reserved: it asks the router to pick; choose another name"
            yield view.document.problem(loc, name, message)
    yield from _repeated(view, names, "public model name")


def _hosted_names(view: View) -> Iterator[Problem]:
    names = [((*app.loc, "args", "model"), app.model) for app in view.hosts]
    yield from _repeated(view, names, "hosted model name")
    if not view.offers:
        return
    offered = [offer.name for offer in view.offers]
    for loc, name in names:
        if name and name not in offered:
            message = f"not among the gateway's models, so nobody could ask for it ({_or(offered)})"
            yield view.document.problem(loc, name, message)


def _references(view: View) -> Iterator[Problem]:
    for offer in view.offers:
        if offer.settings is None:
            continue
        if offer.settings.upstream is not None:
            yield from _hosted_here(view, offer)
            continue
        loc, name = (*offer.loc, "application"), offer.settings.application
        hosts = [host for host in view.hosts if host.name == name]
        if not hosts:
            known = [host.name for host in view.hosts if host.name]
            message = f"no application of this name hosts a model: {closest(name, known)}"
            yield view.document.problem(loc, name, message)
        elif not any(host.model in (offer.name, None) for host in hosts):
            message = (
                f"application '{name}' hosts model '{hosts[0].model}' "
                f"({path_of((*hosts[0].loc, 'args', 'model'))}), not '{offer.name}': "
                "make the two names equal or name another application"
            )
            yield view.document.problem(loc, name, message)


def _hosted_here(view: View, offer: Offer) -> Iterator[Problem]:
    """An application hosts what an upstream is to answer."""
    for host in view.hosts:
        if host.model == offer.name:
            message = (
                f"an upstream, but application '{host.name}' hosts a model of this name, which "
                "nobody could ask for: rename one of them"
            )
            yield view.document.problem((*offer.loc, "upstream"), None, message)


def _tiers(view: View) -> Iterator[Problem]:
    if view.router is None:
        return
    used = [tier for offer in view.offers if offer.settings and (tier := offer.settings.tier)]
    meant = {near for tier in used for near in get_close_matches(tier, view.router.tiers, n=1)}
    for offer in view.offers:
        tier = offer.settings.tier if offer.settings else None
        if tier and tier not in view.router.tiers:
            loc = (*offer.loc, "tier")
            message = f"not among the router's tiers: {closest(tier, view.router.tiers)}"
            yield view.document.problem(loc, tier, message)
    if any(offer.settings is None for offer in view.offers):
        return  # the model of a tier may be one of those with mistakes
    for index, tier in enumerate(view.router.tiers):
        if tier not in meant:
            message = (
                f"no model has this tier: give it one or remove it (tiers in use: {_or(used)})"
            )
            yield view.document.problem((*view.router_loc, "tiers", index), tier, message)


def _repeated(view: View, names: Iterable[tuple[Loc, str | None]], what: str) -> Iterator[Problem]:
    first: dict[str, Loc] = {}
    for loc, name in names:
        if name is None:
            continue
        if name in first:
            message = f"{what} '{name}' is taken by {path_of(first[name])}: choose another"
            yield view.document.problem(loc, name, message)
        else:
            first[name] = loc


def _or(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"
