from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from turnout_load.errors import BadOption
from turnout_load.metrics.cost import cost, parse_price, price_of
from turnout_load.record import UNKNOWN, Record
from turnout_load.spec import Spec, Target


def spec(price: Mapping[str, str] | None = None, node_usd_per_hour: float | None = None) -> Spec:
    target = Target(url="http://127.0.0.1:1/v1", model="auto")
    return Spec(target=target, price=dict(price or {}), node_usd_per_hour=node_usd_per_hour)


def test_tokens_cost_what_their_model_charges_for_input_and_output(streamed: Record) -> None:
    small = replace(streamed, input_tokens=1_000_000, output_tokens=500_000)
    large = replace(small, model="large")
    found = cost([small, large, large], spec({"small": "0.10/0.20", "large": "1/4"}), 10)
    assert found is not None
    # 0.10 + 0.10 for the small one's answer, 1 + 2 for each of the large one's
    assert found.usd == pytest.approx(6.2)
    assert found.usd_per_million_tokens == pytest.approx(6.2 / 4.5)
    assert found.usd_per_million_output_tokens == pytest.approx(6.2 / 1.5)
    assert found.because == "prices per token"


def test_a_star_is_the_price_of_every_other_model(streamed: Record) -> None:
    prices = {"large": parse_price("--price", "1/4"), "*": parse_price("--price", "0/8")}
    assert price_of("small", prices) == parse_price("--price", "0/8")
    assert price_of("large", prices) == parse_price("--price", "1/4")
    assert price_of("small", {}) is None


def test_answers_without_a_price_or_without_usage_are_left_out_and_said_to_be(
    streamed: Record,
) -> None:
    silent = replace(streamed, output_tokens=UNKNOWN)
    other = replace(streamed, model="other")
    found = cost([streamed, silent, other, other], spec({"small": "10/0"}), 10)
    assert found is not None
    assert found.usd == pytest.approx(0.001)
    assert "left out 1 without usage" in found.because
    assert "left out 2 of 'other', which has no price" in found.because


def test_an_hourly_price_is_spread_over_the_tokens_of_the_measured_time(streamed: Record) -> None:
    big = replace(streamed, input_tokens=150_000, output_tokens=50_000)
    found = cost([big] * 10, spec(node_usd_per_hour=3.6), measured_s=500)
    assert found is not None
    assert found.usd == pytest.approx(0.5)
    assert found.usd_per_million_tokens == pytest.approx(0.25)
    assert found.usd_per_million_output_tokens == pytest.approx(1)
    assert found.because == "500.0 s at 3.6 USD an hour"


def test_without_a_price_there_is_no_cost_and_without_tokens_none_per_token(
    streamed: Record,
) -> None:
    assert cost([streamed], spec(), 10) is None
    nothing = cost([], spec(node_usd_per_hour=3600), 2)
    assert nothing is not None
    assert (nothing.usd, nothing.usd_per_million_tokens) == (2, None)


@pytest.mark.parametrize("text", ["", "1", "1/2/3", "a/b", "-1/2", "1/nan", "inf/1"])
def test_a_price_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadOption, match=r"--price small .*: expected INPUT/OUTPUT"):
        parse_price("--price small", text)
