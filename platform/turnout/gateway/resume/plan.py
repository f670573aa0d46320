"""What to do about an answer whose replica was lost: decided from how far it had come. Pure."""

from dataclasses import dataclass, replace
from typing import Self

from turnout.gateway.request import GenerationRequest
from turnout.gateway.resume.progress import Progress
from turnout.gateway.resume.safety import keeps_stop, stops_of, why_not

COMPLETIONS_MAX_TOKENS = 16
"""What engines take where a completion's `max_tokens` is not given (OpenAI's default)."""


@dataclass(frozen=True)
class Again:
    """Nothing has reached the client: ask again from the beginning."""

    because: str


@dataclass(frozen=True)
class FromIds:
    """Go on after the first `keep` of the answer's ids."""

    keep: int
    max_tokens: int
    hidden: int
    """Characters that engines held back for stop strings: generated, but never seen here."""
    unsure: int
    """How many of the last ids may be half a character."""
    because: str

    @property
    def needs_text(self) -> bool:
        """Whether a tokenizer has to say which text the ids are."""
        return self.hidden > 0 or self.unsure > 0

    def after(self, keep: int) -> Self:
        """Returns the same with fewer ids kept, as many more of them to be generated."""
        return replace(self, keep=keep, max_tokens=self.max_tokens + self.keep - keep)


@dataclass(frozen=True)
class FromText:
    """Go on after the text: the engine told no ids."""

    max_tokens: int | None
    because: str


@dataclass(frozen=True)
class End:
    """The whole answer was there: only its end has to be told."""

    finish_reason: str | None
    """None where the client has it already."""
    because: str


@dataclass(frozen=True)
class GiveUp:
    """The stream ends with an error."""

    because: str


Step = Again | FromIds | FromText | End | GiveUp


def next_step(
    request: GenerationRequest, progress: Progress, window: int, has_scanner: bool = False
) -> Step:
    """Returns how an answer goes on whose replica was lost.

    An engine tells the end of an answer (its end token, a stop string, its last token) together
    with the ids that made it. So ids without a finish reason are always an answer that goes on,
    and ids with one need nothing but the events after it.

    `window` is the lost replica's context window; `has_scanner` tells that stop strings are
    looked for here, since an earlier seam.
    """
    if progress.finish_reason is not None:
        return End(None, "the answer was complete")
    if (reason := why_not(request)) is not None:
        return GiveUp(reason)
    if progress.is_odd:
        return GiveUp("the engine's parser was at work")
    if not progress.has_ids:
        return _from_text(request, progress)
    return _from_ids(request, progress, window, has_scanner)


def _from_ids(
    request: GenerationRequest, progress: Progress, window: int, has_scanner: bool
) -> Step:
    keep = progress.commit
    most = _max_tokens(request, progress, window)
    if most is None:
        return GiveUp("neither its max_tokens nor the model's window is known")
    hidden = 0
    if keep and not has_scanner and not keeps_stop(request):
        hidden = max((len(stop) for stop in stops_of(request)), default=1) - 1
    if request.fields.get("return_token_ids") and keep < len(progress.ids):
        return GiveUp("the client has ids that would be generated again")
    if keep >= most:
        if hidden:
            return GiveUp("its last characters were held back")
        return End("length", "max_tokens was reached")
    unsure = progress.commit_size if progress.commit_size > 1 else 0
    return FromIds(keep, most - keep, hidden, unsure, f"after {keep} tokens")


def _max_tokens(request: GenerationRequest, progress: Progress, window: int) -> int | None:
    if request.max_tokens is not None:
        return request.max_tokens
    if request.endpoint == "completions":
        return COMPLETIONS_MAX_TOKENS
    return window - len(progress.prompt_ids or ()) if window else None


def _from_text(request: GenerationRequest, progress: Progress) -> Step:
    if request.endpoint == "completions" and not isinstance(request.fields["prompt"], str):
        return GiveUp("the engine told no token ids, and the prompt is no text")
    most = request.max_tokens
    if most is None and request.endpoint == "completions":
        most = COMPLETIONS_MAX_TOKENS
    if most is not None and progress.pieces >= most:
        return End("length", "max_tokens was reached")
    left = None if most is None else most - progress.pieces
    return FromText(left, f"after {progress.pieces} chunks of text")
