"""Cost.

    by token: USD = sum over answers of input tokens x input price + output tokens x output price
    by hour:  USD = USD per node-hour x measured time / 3600
    USD per million tokens = USD / (input + output tokens) x 1,000,000

Prices are by the model that answered. A price per hour charges idle time as well: its cost per
token holds for the load that was measured, and falls until the node is full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from turnout_load.errors import BadOption
from turnout_load.record import UNKNOWN, Record
from turnout_load.result import Cost
from turnout_load.spec import Spec

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens."""

    input: float
    output: float

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """Returns what so many tokens cost."""
        return (input_tokens * self.input + output_tokens * self.output) / MILLION


def parse_price(option: str, text: str) -> Price:
    """Reads `INPUT/OUTPUT`, such as `0.10/0.20`; raises BadOption for anything else."""
    try:
        each_input, each_output = (float(part) for part in text.split("/"))
    except ValueError:
        each_input = each_output = -1.0
    if not (0 <= each_input < MILLION and 0 <= each_output < MILLION):
        raise BadOption(option, text, "INPUT/OUTPUT in USD per million tokens, such as 0.10/0.20")
    return Price(each_input, each_output)


def parse_prices(prices: Mapping[str, str]) -> dict[str, Price]:
    """Reads the price of every model, `*` being any other's."""
    return {model: parse_price(f"--price {model}", text) for model, text in prices.items()}


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Returns a model's price, or that of any model, or None."""
    return prices.get(model) or prices.get("*")


def cost(answered: Iterable[Record], spec: Spec, measured_s: float) -> Cost | None:
    """Returns what the answers cost, by token if the run has prices, else by the hour.

    None if it has neither. Answers without usage are in no figure per token.
    """
    if spec.price:
        return _by_token(answered, parse_prices(spec.price))
    if spec.node_usd_per_hour is None:
        return None
    counted = [record for record in answered if _is_counted(record)]
    return _cost(
        spec.node_usd_per_hour * measured_s / 3600,
        sum(record.input_tokens for record in counted),
        sum(record.output_tokens for record in counted),
        f"{measured_s:.1f} s at {spec.node_usd_per_hour:g} USD an hour",
    )


def _by_token(answered: Iterable[Record], prices: Mapping[str, Price]) -> Cost:
    input_tokens: Counter[Price] = Counter()
    output_tokens: Counter[Price] = Counter()
    left_out: Counter[str] = Counter()
    for record in answered:
        price = price_of(record.model, prices)
        if price is None:
            left_out[f"of {record.model!r}, which has no price"] += 1
        elif not _is_counted(record):
            left_out["without usage"] += 1
        else:
            input_tokens[price] += record.input_tokens
            output_tokens[price] += record.output_tokens
    usd = sum(price.usd(input_tokens[price], output_tokens[price]) for price in input_tokens)
    because = ["prices per token"]
    because += [f"left out {count} {which}" for which, count in left_out.items()]
    return _cost(usd, input_tokens.total(), output_tokens.total(), "; ".join(because))


def _cost(usd: float, input_tokens: int, output_tokens: int, because: str) -> Cost:
    tokens = input_tokens + output_tokens
    return Cost(
        usd=usd,
        usd_per_million_tokens=usd / tokens * MILLION if tokens else None,
        usd_per_million_output_tokens=usd / output_tokens * MILLION if output_tokens else None,
        because=because,
    )


def _is_counted(record: Record) -> bool:
    return UNKNOWN not in (record.input_tokens, record.output_tokens)
