from __future__ import annotations

from dataclasses import replace

import pytest

from turnout_load.metrics.cost import Price
from turnout_load.metrics.model_share import model_share
from turnout_load.record import UNKNOWN, Record
from turnout_load.records import Records


def test_each_models_part_is_counted_and_priced_the_most_used_first(streamed: Record) -> None:
    answered = Records()
    for record in (
        replace(streamed, model="large", end_ns=streamed.intended_ns + 300_000_000),
        streamed,
        replace(streamed, output_tokens=UNKNOWN),
        streamed,
    ):
        answered.append(record)
    used = model_share(answered, {"small": Price(input=1, output=10)})
    assert list(used) == ["small", "large"]
    assert (used["small"].requests, used["small"].share) == (3, 0.75)
    assert (used["large"].requests, used["large"].share) == (1, 0.25)
    assert used["small"].output_tokens == 22
    assert used["small"].usd == pytest.approx((300 + 220) / 1e6)
    assert used["large"].usd is None
    assert used["small"].ttft_ms is not None
    assert used["large"].e2e_ms is not None
    assert (used["small"].ttft_ms.p50, used["large"].e2e_ms.p50) == (50, 300)


def test_a_run_without_answers_used_no_model() -> None:
    assert model_share(Records(), {}) == {}
