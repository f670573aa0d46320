"""What a request is expected to use, what it used, and the record of it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from turnout.access.caller import Caller
from turnout.config.settings import Price
from turnout.gateway.meter import Meter
from turnout.gateway.request import GenerationRequest
from turnout.gateway.sse import Usage
from turnout.limits.claim import Claim, Limiter, Reservation

OutputTokens = Callable[[str], int]
"""Predicts the tokens of the answer to a text."""


@dataclass
class Account:
    """One request that was granted: who pays, by which prices, and what it used so far."""

    caller: Caller
    price: Price
    limiter: Limiter
    granted: Reservation
    meter: Meter

    def settle(self) -> None:
        """Tells the limiter what was used."""
        self.limiter.settle(self.granted, claim_of(self.meter.usage, self.price))


def cost_usd(usage: Usage, price: Price) -> float:
    """Returns what tokens cost at a list price."""
    return (
        usage.prompt_tokens * price.input_usd_per_million_tokens
        + usage.completion_tokens * price.output_usd_per_million_tokens
    ) / 1e6


def claim_of(usage: Usage, price: Price) -> Claim:
    """Returns usage as limits count it."""
    return Claim(usage.prompt_tokens + usage.completion_tokens, cost_usd(usage, price))


def predicted(request: GenerationRequest, price: Price, output_tokens: OutputTokens) -> Claim:
    """Returns what a request will probably use: its prompt by size, its answer by prediction."""
    prompt = request.prompt_tokens_expected
    if request.endpoint == "embeddings":
        return claim_of(Usage(prompt, 0), price)
    answer = output_tokens(request.text)
    if request.max_tokens is not None:
        answer = min(answer, request.max_tokens)
    answers = request.fields.get("n") or 1
    return claim_of(Usage(prompt, answer * answers), price)
