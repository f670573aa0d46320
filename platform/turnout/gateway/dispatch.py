"""Decides the model of a request: the router's rules on what the gateway knows right now."""

from collections.abc import Awaitable, Callable, Sequence

from turnout.config.settings import AUTO
from turnout.gateway.catalog import Catalog
from turnout.gateway.errors import ContextLengthExceeded, NoReadyReplica, NotCapable
from turnout.gateway.replicas import Replica
from turnout.gateway.request import GenerationRequest
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
        self._catalog = catalog
        self._replicas = replicas
        self._difficulty = difficulty
        self._count_tokens = count_tokens

    async def decide(self, request: GenerationRequest) -> Decision:
        """Returns the model that answers, with the reason.

        Raises `UnknownModel`, `ContextLengthExceeded`, `NotCapable` or `NoReadyReplica`.
        """
        asked = self._catalog.resolve(request.model)
        if asked == AUTO:
            return await self._automatic(request)
        return await self._requested(request, asked)

    async def _automatic(self, request: GenerationRequest) -> Decision:
        settings = self._catalog.settings
        assert settings.router is not None  # resolve() gives AUTO only with a router
        candidates = self._catalog.candidates(list(settings.models), self._replicas)
        counts = await self._exact_counts(request, candidates)
        need = Need(request.prompt_tokens_at_most, request.max_tokens, request.capabilities, counts)
        return self._apply(need, candidates, self._difficulty(request.text), settings.router)

    async def _requested(self, request: GenerationRequest, model: str) -> Decision:
        """A model asked for by name: only its window and readiness matter, the rest is its own."""
        candidates = self._catalog.candidates([model], self._replicas)
        counts = await self._exact_counts(request, candidates)
        need = Need(request.prompt_tokens_at_most, request.max_tokens, frozenset(), counts)
        only_tier = RouterSettings(tiers=(candidates[0].tier,))
        decision = self._apply(need, candidates, None, only_tier)
        return Decision(model, "requested", None, decision.rejected)

    async def _exact_counts(
        self, request: GenerationRequest, candidates: Sequence[Candidate]
    ) -> dict[str, int]:
        """Counts with a model's own tokenizer where the cheap bound leaves open whether it fits."""
        counts = {}
        for candidate in candidates:
            room = candidate.context_window - (request.max_tokens or 1)
            if candidate.is_ready and request.prompt_tokens_at_most > room:
                count = await self._count_tokens(self._replicas(candidate.name)[0], request)
                if count is not None:
                    counts[candidate.name] = count
        return counts

    def _apply(
        self,
        need: Need,
        candidates: Sequence[Candidate],
        difficulty: float | None,
        settings: RouterSettings,
    ) -> Decision:
        try:
            return decide(need, candidates, difficulty, settings)
        except NothingFits as error:
            param = "max_tokens" if error.prompt_fits else "messages"
            raise ContextLengthExceeded(str(error), param) from None
        except NothingCapable as error:
            raise NotCapable(str(error)) from None
        except NothingReady as error:
            raise NoReadyReplica(str(error), self._catalog.settings.limits.retry_after_s) from None
