"""Usage, checked: tokens as the server told them beside those that a tokenizer counts.

    difference = (tokens by the server - tokens by the tokenizer) / tokens by the tokenizer

of all checked answers together, and the number of answers whose two counts are further apart than
`TOLERANCE`: a text cut into tokens again may give a few more or fewer than were generated, and
servers count the token that ends an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from turnout_load.result import TokenCheck, UsageCheck

Pair = tuple[int, int]
"""One answer's tokens: by the server, and by the tokenizer."""
TOLERANCE = 2


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of sampled answers and of their prompts, of those that tell and can be counted."""

    output: tuple[Pair, ...] = ()
    prompt: tuple[Pair, ...] = ()


def joined(several: Iterable[Lengths]) -> Lengths:
    """Returns the lengths of several samples as one."""
    known = list(several)
    return Lengths(
        tuple(pair for each in known for pair in each.output),
        tuple(pair for each in known for pair in each.prompt),
    )


def usage_check(lengths: Lengths) -> UsageCheck | None:
    """Returns how far server and tokenizer are apart; None where nothing was counted."""
    output, prompt = _check(lengths.output), _check(lengths.prompt)
    return UsageCheck(output=output, prompt=prompt) if output or prompt else None


def _check(pairs: Sequence[Pair]) -> TokenCheck | None:
    if not pairs:
        return None
    by_server, by_tokenizer = (sum(counts) for counts in zip(*pairs, strict=True))
    difference = 100 * (by_server - by_tokenizer) / by_tokenizer if by_tokenizer else None
    return TokenCheck(
        answers=len(pairs),
        by_server=by_server,
        by_tokenizer=by_tokenizer,
        difference_percent=difference,
        apart=sum(abs(told - counted) > TOLERANCE for told, counted in pairs),
    )
