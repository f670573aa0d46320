"""Decides the model of a request: the router's rules on what the gateway knows right now."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from turnout.access.caller import ANYONE, Caller
from turnout.config.settings import AUTO
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import ContextLengthExceeded, InvalidField, NotCapable, UnknownField
from turnout.gateway.replicas import Replica
from turnout.gateway.request import GenerationRequest
from turnout.gateway.upstream.outbound import unknown_to
from turnout_router.errors import NothingCapable, NothingFits, NothingReady
from turnout_router.policy import Candidate, Decision, Need, RouterSettings, decide

Difficulty = Callable[[str], float]
CountTokens = Callable[[Replica, GenerationRequest], Awaitable[int | None]]
"""Asks a replica how many tokens a request's prompt has; None where it cannot tell."""


class Dispatcher:
    """Turns a request into a decision; asks an engine for a token count only where it matters."""

    def __init__(
        self,
        catalog: Catalog,
        replicas: Callable[[str], Sequence[Replica]],
        difficulty: Difficulty,
        count_tokens: CountTokens,
    ) -> None:
        self.catalog = catalog
        self._replicas = replicas
        self._difficulty = difficulty
        self._count_tokens = count_tokens

    async def decide(self, request: GenerationRequest, caller: Caller = ANYONE) -> Decision:
        """Returns the model that answers, with the reason.

        Raises `UnknownModel`, `InvalidField`, `ContextLengthExceeded` or `NotCapable`.
        """
        asked = self.catalog.resolve(request.model, caller)
        is_embedding = request.endpoint == "embeddings"
        if asked == AUTO and is_embedding:
            raise InvalidField("model", "name one model: vectors of two models do not compare")
        if asked == AUTO:
            return await self._automatic(request, self._routable(request, caller))
        if unknown := unknown_to(self.catalog.model(asked), request):
            raise UnknownField(unknown[0])
        if request.endpoint not in self.catalog.model(asked).capabilities:
            raise NotCapable(self.catalog.without(asked, request.endpoint, caller))
        if is_embedding:  # the replica counts the tokens of all texts at once
            return Decision(asked, "requested", None, ())
        return await self._requested(request, asked)

    def _routable(self, request: GenerationRequest, caller: Caller) -> list[str]:
        """Returns the models that `auto` may pick: those with a tier that know the fields.

        Raises `NotCapable` where there is none.
        """
        models = self.catalog.settings.models
        found = [
            name
            for name in self.catalog.models_for(caller)
            if models[name].tier is not None and not unknown_to(models[name], request)
        ]
        if not found:
            raise NotCapable("no model that 'auto' picks may answer this request: name one")
        return found

    async def _automatic(self, request: GenerationRequest, models: Sequence[str]) -> Decision:
        settings = self.catalog.settings
        assert settings.router is not None  # resolve() gives AUTO only with a router
        candidates = self.catalog.candidates(models, self._replicas)
        able = [each for each in candidates if request.capabilities <= each.capabilities]
        counts = await self._exact_counts(request, able, settings.router.default_output_tokens)
        need = Need(request.prompt_tokens_at_most, request.max_tokens, request.capabilities, counts)
        difficulty = self._difficulty(request.text)
        return self._apply(request, need, candidates, difficulty, settings.router)

    async def _requested(self, request: GenerationRequest, model: str) -> Decision:
        """A model asked for by name: only its window and readiness matter, the rest is its own."""
        candidates = self.catalog.candidates([model], self._replicas)
        counts = await self._exact_counts(request, candidates, 1)
        need = Need(request.prompt_tokens_at_most, request.max_tokens, frozenset(), counts)
        only_tier = RouterSettings(tiers=(candidates[0].tier,))
        decision = self._apply(request, need, candidates, None, only_tier)
        return Decision(model, "requested", None, decision.rejected)

    async def _exact_counts(
        self, request: GenerationRequest, candidates: Sequence[Candidate], output_tokens: int
    ) -> dict[str, int]:
        """Counts with a model's own tokenizer where the cheap bound leaves open whether it fits.

        A prompt that no tokenizer could count is taken to fit: the engine has the last word.
        """
        at_most = request.prompt_tokens_at_most + (request.max_tokens or output_tokens)
        unsure = [each for each in candidates if each.is_ready and at_most > each.context_window]
        if not unsure or request.has_token_ids:
            return {}
        counts = await asyncio.gather(
            *(
                self._count_tokens(random.choice(self._replicas(each.name)), request)
                for each in unsure
            )
        )
        return {each.name: count or 0 for each, count in zip(unsure, counts, strict=True)}

    def _apply(
        self,
        request: GenerationRequest,
        need: Need,
        candidates: Sequence[Candidate],
        difficulty: float | None,
        settings: RouterSettings,
    ) -> Decision:
        try:
            return decide(need, candidates, difficulty, settings)
        except NothingFits as error:
            param = request.max_tokens_field if error.prompt_fits else request.prompt_field
            raise ContextLengthExceeded(str(error), param) from None
        except NothingCapable as error:
            raise NotCapable(str(error)) from None
        except NothingReady:
            # Decided as if all were: the relay waits for a replica, or has another model stand in.
            waited_for = [replace(each, is_ready=True) for each in candidates]
            return decide(need, waited_for, difficulty, settings)
