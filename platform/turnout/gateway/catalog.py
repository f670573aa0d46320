"""The models on offer, by name and alias, and how `/v1/models` lists them. Pure."""

from collections.abc import Callable, Sequence
from typing import Any

from turnout.access.caller import ANYONE, Caller
from turnout.config.settings import AUTO, Capability, Failover, GatewaySettings, ModelSettings
from turnout.gateway.errors import UnknownModel
from turnout.gateway.replicas import Replica
from turnout_router.policy import Candidate

Replicas = Callable[[str], Sequence[Replica]]


class Catalog:
    """Looks models up in the gateway's settings."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self._names = {name: name for name in settings.models}
        for name, model in settings.models.items():
            self._names.update(dict.fromkeys(model.aliases, name))
        self._failovers = _failovers(settings)
        self._last: dict[str, tuple[Sequence[Replica], Candidate]] = {}

    @property
    def names(self) -> list[str]:
        """Every name a client may ask for: `auto` (when a router is set), models, aliases."""
        return ([AUTO] if self.settings.router else []) + list(self._names)

    def names_for(self, caller: Caller) -> list[str]:
        """Returns the names that this caller may ask for."""
        return [name for name in self.names if self._offers(name, caller)]

    def _offers(self, asked: str, caller: Caller) -> bool:
        if asked == AUTO:
            models = self.settings.models
            return self.settings.router is not None and any(map(caller.may_use, models))
        name = self._names.get(asked)
        return name is not None and caller.may_use(name)

    def models_for(self, caller: Caller) -> list[str]:
        """Returns the models whose answers this caller may get."""
        return [name for name in self.settings.models if caller.may_use(name)]

    def resolve(self, asked: str, caller: Caller = ANYONE) -> str:
        """Returns the model behind a name or alias (`auto` stays itself); raises `UnknownModel`."""
        if not self._offers(asked, caller):
            raise UnknownModel(asked[:128], self.names_for(caller))
        return self._names.get(asked, AUTO)

    def model(self, name: str) -> ModelSettings:
        """Returns a model's settings."""
        return self.settings.models[name]

    def failover(self, name: str) -> Failover:
        """Returns what is done about a model's replicas that fail."""
        return self._failovers[name]

    def without(self, name: str, capability: Capability, caller: Caller) -> str:
        """Says that a model lacks a capability, and which ones that the caller may use have it."""
        able = [n for n in self.models_for(caller) if capability in self.model(n).capabilities]
        offered = ", ".join(self.model(name).capabilities)
        others = f"models here that can: {', '.join(able)}" if able else "no model here can"
        return f"the model '{name}' is not for {capability}, only for {offered}; {others}"

    def candidates(self, names: Sequence[str], replicas: Replicas) -> list[Candidate]:
        """Returns what the router chooses from: the models with their state right now.

        A model none of whose replicas is ready has an unknown window: it counts as unlimited, so
        that the answer is "not ready" rather than a wrong "too long".
        """
        return [self._candidate(name, replicas(name)) for name in names]

    def _candidate(self, name: str, ready: Sequence[Replica]) -> Candidate:
        """Returns the same one as last time while the table lists the same replicas."""
        known = self._last.get(name)
        if known is not None and known[0] is ready:
            return known[1]
        model = self.settings.models[name]
        window = min((replica.context_window for replica in ready), default=1 << 62)
        tier, can = model.tier or "", frozenset(model.capabilities)
        found = Candidate(name, tier, window, can, bool(ready))
        self._last[name] = ready, found
        return found

    def listing(self, replicas: Replicas, caller: Caller = ANYONE) -> list[dict[str, Any]]:
        """Returns the entries of `GET /v1/models` for a caller."""
        entries: list[dict[str, Any]] = []
        names = self.names_for(caller)
        if AUTO in names:
            entries.append({"id": AUTO, "tier": None, "context_window": None})
        for name in names:
            if name == AUTO:
                continue
            target = self._names[name]
            candidate = self._candidate(target, replicas(target))
            window = candidate.context_window if candidate.is_ready else None
            tier = candidate.tier or None
            entries.append({"id": name, "tier": tier, "context_window": window})
        return [
            {"object": "model", "created": 0, "owned_by": "turnout", **entry} for entry in entries
        ]


def _failovers(settings: GatewaySettings) -> dict[str, Failover]:
    """Returns the settings by model: an upstream tells no token ids, and is asked only once.

    How its tokens go on from a text nobody knows here, and what it was sent twice is paid twice.
    """
    cautious = {"resumes_streams": False, "asks_token_ids": False, "hedge_share": 0.0}
    beyond = settings.failover.model_copy(update=cautious)
    return {
        name: settings.failover if model.upstream is None else beyond
        for name, model in settings.models.items()
    }
