"""What each model answered, by the name that answered it.

share = a model's answers / all answers
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from turnout_load.metrics.cost import Price, price_of
from turnout_load.metrics.e2e import E2E
from turnout_load.metrics.metric import measure
from turnout_load.metrics.tokens import known
from turnout_load.metrics.ttft import TTFT
from turnout_load.records import Records
from turnout_load.result import ModelUsed


def model_share(answered: Records, prices: Mapping[str, Price]) -> dict[str, ModelUsed]:
    """Returns each model's part, the most used first."""
    models = answered.column("model")
    return {
        model: _model_used(
            answered.where(each == model for each in models), len(answered), price_of(model, prices)
        )
        for model, _ in Counter(models).most_common()
    }


def _model_used(records: Records, total: int, price: Price | None) -> ModelUsed:
    input_tokens = sum(known(records.column("input_tokens")))
    output_tokens = sum(known(records.column("output_tokens")))
    return ModelUsed(
        requests=len(records),
        share=len(records) / total,
        output_tokens=output_tokens,
        ttft_ms=measure(TTFT, records),
        e2e_ms=measure(E2E, records),
        usd=price.usd(input_tokens, output_tokens) if price else None,
    )
