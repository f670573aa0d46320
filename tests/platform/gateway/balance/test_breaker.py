"""A breaker opens, waits, lets one probe through, and closes: by the clock it is told."""

from __future__ import annotations

from turnout.gateway.balance.breaker import Breaker, BreakerSettings, Circuit

SETTINGS = BreakerSettings(errors_to_open=3, first_pause_s=1.0, longest_pause_s=4.0, growth=2.0)


def opened(at_s: float = 10.0) -> Breaker:
    return Breaker().failed("dead", at_s, SETTINGS)


def test_one_dead_connection_takes_a_replica_out_at_once() -> None:
    assert Breaker().lets_through(10.0)
    assert not opened(10.0).lets_through(10.0)


def test_errors_open_it_only_in_a_row_of_three() -> None:
    breaker = Breaker()
    for _ in range(2):
        breaker = breaker.failed("error", 1.0, SETTINGS)
    assert breaker.lets_through(1.0)
    assert not breaker.failed("error", 1.0, SETTINGS).lets_through(1.0)
    answered = breaker.answered(sent_s=1.0)
    assert answered.failed("error", 2.0, SETTINGS).lets_through(2.0)


def test_after_the_pause_one_request_at_a_time_is_let_through() -> None:
    breaker = opened(10.0)
    assert not breaker.lets_through(10.9)
    assert breaker.lets_through(11.0)
    probing = breaker.sent(11.0)
    assert probing.circuit is Circuit.HALF_OPEN
    assert not probing.lets_through(11.0)
    assert not probing.lets_through(99.0)


def test_a_probe_that_is_answered_closes_it() -> None:
    closed = opened(10.0).sent(11.0).answered(sent_s=11.0)
    assert closed == Breaker()


def test_each_probe_that_fails_doubles_the_pause_up_to_the_longest() -> None:
    breaker, now_s, pauses = opened(0.0), 0.0, []
    for _ in range(4):
        pauses.append(breaker.pause_s)
        now_s += breaker.pause_s
        breaker = breaker.sent(now_s).failed("error", now_s, SETTINGS)
    assert pauses == [1.0, 2.0, 4.0, 4.0]


def test_many_streams_that_break_together_are_one_failure() -> None:
    breaker = opened(10.0)
    for _ in range(16):
        breaker = breaker.failed("dead", 10.1, SETTINGS)
    assert breaker.lets_through(11.0)


def test_an_answer_to_a_request_from_before_it_opened_does_not_close_it() -> None:
    assert not opened(10.0).answered(sent_s=9.9).lets_through(10.0)


def test_an_open_replica_that_was_taken_for_want_of_others_closes_when_it_answers() -> None:
    assert opened(10.0).sent(10.2).answered(sent_s=10.2).lets_through(10.3)


def test_a_probe_whose_client_left_makes_way_for_another() -> None:
    given_up = opened(10.0).sent(11.0).gave_up()
    assert given_up.lets_through(11.0)
    assert Breaker().gave_up() == Breaker()
