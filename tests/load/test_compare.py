"""Two sides get the same requests in turn, and only what both answered is compared."""

import dataclasses

import pytest
from msgspec.structs import replace
from tests.load.made import FACTS, records_of

from turnout_load.compare import compare, joined, run_rounds, side
from turnout_load.comparison import Comparison
from turnout_load.errors import BadOption, Stopped
from turnout_load.metrics.usage import Lengths
from turnout_load.pairing import blocks_of, paired
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.spec import Spec, Target, Workload
from turnout_load.summarize import Facts

TARGET = Target(url="http://gw/v1", model="m")
SPEC = Spec(target=TARGET, requests=10, seed=5)
SIDES = side("a", TARGET), side("http://b/v1#b", TARGET)


def answered(index: int, ttft_ms: float, model: str = "m", error: str = "") -> Record:
    first_ns = round(ttft_ms * 1e6)
    return Record(
        index,
        sent_ns=0,
        first_ns=first_ns,
        last_ns=first_ns,
        end_ns=first_ns + 1,
        status=200,
        chunks=1,
        input_tokens=1_000_000,
        output_tokens=0,
        model=model,
        error=error,
    )


@pytest.mark.parametrize(
    ("text", "url", "model"),
    [
        ("large", "http://gw/v1", "large"),
        ("http://b/v1", "http://b/v1", "m"),
        ("http://b/v1#small", "http://b/v1", "small"),
    ],
)
def test_a_side_is_a_model_an_address_or_both(text: str, url: str, model: str) -> None:
    made = side(text, TARGET)
    assert (made.target.url, made.target.model) == (url, model)


def test_rounds_go_on_in_the_dataset_and_sides_get_the_same() -> None:
    asked: list[Spec] = []

    def run(spec: Spec) -> tuple[Records, Facts]:
        asked.append(spec)
        sent = 10 if spec.target.model == "a" else 7  # a faster side takes more in the same time
        return records_of(*(answered(number, 10) for number in range(sent))), FACTS

    spec = replace(SPEC, requests=None, duration_s=9.0, workload=Workload(skip=3))
    run_rounds(spec, SIDES, 3, run)
    skips_and_seeds = [(each.workload.skip, each.seed) for each in asked]
    assert skips_and_seeds == [(3, 5), (3, 5), (13, 6), (13, 6), (23, 7), (23, 7)]
    assert [each.target.model for each in asked] == ["a", "b", "b", "a", "a", "b"]


def test_what_one_side_failed_is_left_out_of_the_pairs() -> None:
    a = records_of(answered(0, 10), answered(1, 20), answered(2, 30, error="timeout"))
    b = records_of(answered(1, 10), answered(0, 5, error="closed"), answered(2, 15))
    assert [(x.index, y.index) for x, y in paired([a], [b])[0]] == [(1, 1)]


def test_a_side_twice_as_fast_and_half_as_dear_is_found() -> None:
    def run(spec: Spec) -> tuple[Records, Facts]:
        scale = 1 if spec.target.model == "a" else 0.5
        times = [(number, (10 + number) * scale) for number in range(10)]
        return records_of(*(answered(n, t, model=spec.target.model) for n, t in times)), FACTS

    spec = replace(SPEC, price={"a": "2/2", "b": "1/1"})
    found, of_a, of_b = compare(spec, (side("a", TARGET), side("b", TARGET)), 4, run)
    by_name = {each.name: each for each in found.metrics}
    assert by_name["ttft.p50"].difference_percent == pytest.approx(-50)
    assert by_name["ttft.p50"].verdict == "B is 50.0% ± 0.0% faster at p50 TTFT"
    assert by_name["cost.mean"].a == pytest.approx(2.0)  # a million tokens at 2 USD a million
    assert by_name["cost.mean"].difference_percent == pytest.approx(-50)
    assert found.share_by_model == {"a": (1, 0), "b": (0, 1)}
    assert (found.pairs, len(of_a), len(of_b)) == (40, 40, 40)


def test_rounds_follow_one_another_in_the_joined_run() -> None:
    first = records_of(answered(0, 10), answered(1, 20))
    whole = joined([first, records_of(answered(0, 5))], warm_up_ns=0)
    assert [record.intended_ns for record in whole] == [0, 0, 20_000_001]
    assert [record.end_ns for record in whole] == [10_000_001, 20_000_001, 25_000_002]


def compared(
    count: int,
    *,
    failing: int = 0,
    stops_in: int = 99,
    starts: bool = True,
    facts: Facts = FACTS,
) -> Comparison:
    """Compares A with itself: 20 requests a round, of which B fails the first ones.

    Round `stops_in` is interrupted in its second run, or that one never `starts`.
    """
    begun: list[str] = []

    def run(spec: Spec) -> tuple[Records, Facts]:
        begun.append(spec.target.model)
        if len(begun) == 2 * stops_in and not starts:
            raise KeyboardInterrupt
        fails = failing if spec.target.model == "b" else 0
        records = [
            answered(number, 10 + number, error="http" if number < fails else "")
            for number in range(20)
        ]
        return records_of(*records), dataclasses.replace(
            facts, was_stopped=len(begun) == 2 * stops_in
        )

    return compare(SPEC, SIDES, count, run)[0]


@pytest.mark.parametrize("starts", [True, False])
def test_a_stopped_round_ends_the_comparison_with_the_rounds_before_it(starts: bool) -> None:
    found = compared(4, stops_in=3, starts=starts)
    assert (found.rounds, found.pairs) == (2, 40)
    assert "stopped after 2 of 4 rounds: what came later is left out" in found.notes
    assert (found.a_result.requests.sent, found.b_result.requests.sent) == (40, 40)
    with pytest.raises(Stopped):
        compared(4, stops_in=1, starts=starts)


def test_no_rounds_are_refused_and_one_round_is_told() -> None:
    with pytest.raises(BadOption, match="--rounds"):
        compared(0)
    assert any("A always goes first" in note for note in compared(1).notes)
    assert not any("A always goes first" in note for note in compared(2).notes)


def test_requests_of_the_warm_up_are_in_no_pair() -> None:
    def run(spec: Spec) -> tuple[Records, Facts]:
        cold = answered(0, 900 if spec.target.model == "a" else 300)
        warm = [
            dataclasses.replace(answered(n, 2010), intended_ns=2_000_000_000) for n in range(1, 21)
        ]
        return records_of(cold, *warm), FACTS

    found, of_a, _ = compare(replace(SPEC, warm_up_s=1.0), SIDES, 2, run)
    assert (found.pairs, len(of_a)) == (40, 40)
    [mean] = [each for each in found.metrics if each.name == "ttft.mean"]
    assert (mean.a, mean.b, mean.difference_percent) == pytest.approx((10, 10, 0))


def test_warnings_of_both_sides_are_told() -> None:
    noted = compared(2, facts=dataclasses.replace(FACTS, notes=("the clock moved",), cpu_share=1.0))
    assert {"A: the clock moved", "B: the clock moved"} <= set(noted.notes)
    assert any(note.startswith("A: The client was the bottleneck") for note in noted.notes)


def test_the_usage_of_all_rounds_is_checked_together() -> None:
    found = compared(2, facts=dataclasses.replace(FACTS, lengths=Lengths(output=((3, 2), (1, 1)))))
    check = found.b_result.usage_check
    assert check is not None
    assert check.output is not None
    assert (check.output.answers, check.output.by_server) == (4, 8)


@pytest.mark.parametrize(("failing", "withheld"), [(0, False), (1, True)])
def test_sides_that_fail_unlike_shares_are_not_compared(failing: int, withheld: bool) -> None:
    found = compared(2, failing=failing)  # 1 of 20 is 5%
    told = "not comparable: A failed 0.0% of its requests, B 5.0%"
    assert [each.verdict == told for each in found.metrics] == [withheld] * len(found.metrics)
    counted = "A failed 0 of 40, B failed 2 of 40: pairs leave these out"
    assert (counted in found.notes) == withheld


def test_a_shared_address_is_told_for_its_cache() -> None:
    shared = side("a", TARGET), side("b", TARGET)
    found, _, _ = compare(SPEC, shared, 1, lambda _: (records_of(answered(0, 10)), FACTS))
    assert any("prefix cache" in note for note in found.notes)
    assert not any("prefix cache" in note for note in compared(2).notes)


def test_ten_rounds_are_drawn_as_they_are_and_fewer_as_their_pairs() -> None:
    of_round = [(1.0, 2.0), (3.0, 4.0)]
    assert blocks_of([of_round] * 10) == [([1, 3], [2, 4])] * 10
    assert blocks_of([of_round] * 9) == [((1,), (2,)), ((3,), (4,))] * 9


def test_gaps_of_pairs_are_named_for_what_they_are() -> None:
    records = [
        dataclasses.replace(answered(n, 10), chunks=11, last_ns=110_000_000) for n in range(10)
    ]
    found, _, _ = compare(SPEC, SIDES, 1, lambda _: (records_of(*records), FACTS))
    [gap] = [each for each in found.metrics if each.name == "itl_mean.p50"]
    assert gap.a == pytest.approx(10)  # 100 ms of stream between 11 chunks
    assert not any(each.name.startswith("itl.") for each in found.metrics)
