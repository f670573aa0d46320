"""A second replica is asked only past the p95 of recent first tokens, and rarely."""

from __future__ import annotations

from turnout.gateway.hedge import BURST, ENOUGH, Hedges


def learned(ttfts: list[float], requests: int = 1000, share: float = 0.05) -> Hedges:
    hedges = Hedges()
    for _ in range(requests):
        hedges.request(share)
    for ttft in ttfts:
        hedges.learn(ttft)
    return hedges


def test_late_is_what_95_in_100_are_not() -> None:
    assert learned([n / 100 for n in range(100)]).late_s == 0.95


def test_a_few_first_tokens_say_nothing() -> None:
    assert learned([1.0] * (ENOUGH - 1)).late_s is None
    assert learned([1.0] * ENOUGH).late_s == 1.0


def test_old_first_tokens_are_forgotten() -> None:
    assert learned([9.0] * 500 + [1.0] * 500).late_s == 1.0


def test_twenty_requests_earn_one_hedge() -> None:
    assert learned([1.0] * 100, requests=19).late_s is None
    hedges = learned([1.0] * 100, requests=21)
    assert [hedges.take(), hedges.take()] == [True, False]
    assert hedges.late_s is None


def test_a_quiet_time_does_not_save_up_many() -> None:
    hedges = learned([1.0] * 100, requests=100_000)
    assert sum(hedges.take() for _ in range(100)) == BURST


def test_a_share_of_0_turns_hedges_off() -> None:
    assert learned([1.0] * 100, share=0).late_s is None
