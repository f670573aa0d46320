"""The decision: which served model answers a request, and why. Pure: no I/O, no clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnout_router.errors import NothingCapable, NothingFits, NothingReady


class RouterSettings(BaseModel):
    """What an operator sets about routing: the cost order and how sure to be before saving."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tiers: tuple[str, ...] = Field(
        min_length=1, description="The tiers in cost order, cheapest first."
    )
    good_enough: dict[str, float] = Field(
        default_factory=dict,
        description="For every tier below the top one: the least probability (0 to 1) that its "
        "answer is good enough at which a request goes there.",
    )
    encoder: Literal["static", "minilm"] = Field(
        default="static",
        description="The sentence encoder behind the difficulty: static (fast) or minilm.",
    )
    default_output_tokens: int = Field(
        default=256,
        ge=1,
        description="Output tokens to leave room for, where a window allows it, when a request "
        "has no max_tokens.",
    )

    @model_validator(mode="after")
    def _thresholds_match_tiers(self) -> "RouterSettings":
        if len(set(self.tiers)) < len(self.tiers):
            raise ValueError(f"tiers {list(self.tiers)} name one tier twice")
        below, top = self.tiers[:-1], self.tiers[-1]
        if top in self.good_enough:
            raise ValueError(f"good_enough has a threshold for the top tier {top!r}: remove it")
        if unknown := sorted(set(self.good_enough) - set(below)):
            raise ValueError(f"good_enough names {unknown}, not among the tiers {list(self.tiers)}")
        if missing := [tier for tier in below if tier not in self.good_enough]:
            raise ValueError(
                f"good_enough has no threshold for {missing}, below the top tier {top!r}"
            )
        for tier, threshold in self.good_enough.items():
            if not 0 <= threshold <= 1:
                raise ValueError(f"good_enough of {tier!r} is {threshold}, not between 0 and 1")
        return self


@dataclass(frozen=True)
class Candidate:
    """One served model as the policy sees it; context_window is in tokens."""

    name: str
    tier: str
    context_window: int
    capabilities: frozenset[str]
    is_ready: bool


@dataclass(frozen=True)
class Need:
    """What a request needs; `counted` has exact prompt tokens of models whose tokenizer was asked.

    For every other model `prompt_tokens_at_most` stands, an upper bound or an exact count.
    """

    prompt_tokens_at_most: int
    max_tokens: int | None
    capabilities: frozenset[str]
    counted: Mapping[str, int] = field(default_factory=dict)

    def prompt_tokens(self, model: str) -> int:
        """Returns the prompt's tokens for a model: its own count, else the bound."""
        return self.counted.get(model, self.prompt_tokens_at_most)

    def fits(self, candidate: Candidate, output_tokens: int) -> bool:
        """Says whether the prompt and that much output fit the candidate's window."""
        return self.prompt_tokens(candidate.name) + output_tokens <= candidate.context_window


@dataclass(frozen=True)
class Rejection:
    """A model that a rule took out, and the reason in a few words."""

    model: str
    because: str


@dataclass(frozen=True)
class Decision:
    """The model that answers, with a short header-safe reason and what was rejected."""

    model: str
    because: str
    difficulty: float | None
    rejected: tuple[Rejection, ...]


def decide(
    need: Need,
    candidates: Sequence[Candidate],
    difficulty: float | None,
    settings: RouterSettings,
) -> Decision:
    """Picks the cheapest model that can, fits, is ready and is probably good enough.

    The rules apply in that order: capabilities, window, readiness, difficulty. `difficulty` is
    P(the smaller model's answer is good enough); None picks the cheapest. Raises NothingCapable,
    NothingFits or NothingReady when a rule leaves no candidate.
    """
    rejected: list[Rejection] = []
    left = _in_cost_order(candidates, settings)
    everything = left
    left = _keep(left, lambda c: _lacks(need, c), rejected)
    if everything and not left:
        raise _nothing_capable(need, everything)
    fitting = _keep(left, lambda c: _overflow(need, c), rejected)
    if left and not fitting:
        widest = max(left, key=lambda candidate: candidate.context_window)
        tokens = need.prompt_tokens(widest.name)
        raise NothingFits(tokens, need.max_tokens, widest.context_window)
    ready = _keep(fitting, lambda c: None if c.is_ready else f"{c.name} is not ready", rejected)
    if not ready:
        raise NothingReady([candidate.name for candidate in fitting])
    roomy = _keep_roomy(need, ready, settings, rejected)
    wanted, why = _by_difficulty(everything, difficulty, settings)
    picked, _ = _by_difficulty(roomy, difficulty, settings)
    because = why if picked is wanted else ""
    if rejected and (len(roomy) == 1 or not because):
        because = _veto(wanted, picked, rejected)
    return Decision(picked.name, header_safe(because), difficulty, tuple(rejected))


def header_safe(text: str, limit: int = 120) -> str:
    """Returns the text as printable ASCII of bounded length, fit for an HTTP header."""
    text = text[:limit]
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if " " <= c <= "~" else "?" for c in text)


def _in_cost_order(candidates: Sequence[Candidate], settings: RouterSettings) -> list[Candidate]:
    place = {tier: index for index, tier in enumerate(settings.tiers)}
    return sorted((c for c in candidates if c.tier in place), key=lambda c: place[c.tier])


def _keep(
    candidates: list[Candidate],
    objection: Callable[[Candidate], str | None],
    rejected: list[Rejection],
) -> list[Candidate]:
    kept = []
    for candidate in candidates:
        if because := objection(candidate):
            rejected.append(Rejection(candidate.name, because))
        else:
            kept.append(candidate)
    return kept


def _lacks(need: Need, candidate: Candidate) -> str | None:
    missing = sorted(need.capabilities - candidate.capabilities)
    return f"needs {', '.join(missing)}" if missing else None


def _overflow(need: Need, candidate: Candidate) -> str | None:
    if need.fits(candidate, need.max_tokens or 1):
        return None
    return _too_long(need, candidate, need.max_tokens or 1)


def _too_long(need: Need, candidate: Candidate, output_tokens: int) -> str:
    return (
        f"prompt {need.prompt_tokens(candidate.name)}+{output_tokens} tokens > "
        f"{candidate.name} window {candidate.context_window}"
    )


def _keep_roomy(
    need: Need, ready: list[Candidate], settings: RouterSettings, rejected: list[Rejection]
) -> list[Candidate]:
    """Prefers windows with room for an answer of unstated length; never leaves nothing."""
    room = settings.default_output_tokens
    if need.max_tokens or not any(need.fits(candidate, room) for candidate in ready):
        return ready
    return _keep(
        ready, lambda c: None if need.fits(c, room) else _too_long(need, c, room), rejected
    )


def _nothing_capable(need: Need, candidates: list[Candidate]) -> NothingCapable:
    offered = frozenset[str]().union(*(candidate.capabilities for candidate in candidates))
    return NothingCapable(sorted(need.capabilities), sorted(need.capabilities - offered))


def _by_difficulty(
    candidates: list[Candidate], difficulty: float | None, settings: RouterSettings
) -> tuple[Candidate, str]:
    """Returns the cheapest candidate whose tier's threshold is met, else the best, and why."""
    if difficulty is None:
        return candidates[0], "cheapest that fits"
    # cut, not rounded: p=0.598 must not read "p=0.60<0.60"
    shown = f"p={difficulty:.6f}"[:6]
    missed = ""
    for candidate in candidates:
        threshold = settings.good_enough.get(candidate.tier)
        if threshold is not None and difficulty >= threshold:
            kind = "middling" if missed else "easy"
            return candidate, f"{kind} {shown}{missed}>={threshold:.2f}"
        if threshold is not None:
            missed = f"<{threshold:.2f}"
    best = next(c for c in candidates if c.tier == candidates[-1].tier)
    return best, f"hard {shown}{missed}" if missed else f"only {best.tier} is served"


def _veto(wanted: Candidate, picked: Candidate, rejected: list[Rejection]) -> str:
    """Returns the rejection that made the pick another than the difficulty alone would have."""
    by_model = {rejection.model: rejection.because for rejection in rejected}
    because = by_model.get(wanted.name, rejected[0].because)
    return f"only {picked.name} is ready" if because.endswith("is not ready") else because
