from __future__ import annotations

from turnout_load.metrics.e2e import E2E
from turnout_load.record import Record


def test_e2e_lasts_from_the_intended_send_to_the_answers_end(
    streamed: Record, whole: Record
) -> None:
    assert E2E.of(streamed) == 100
    assert E2E.of(whole) == 100


def test_a_request_that_never_ended_has_no_e2e() -> None:
    assert E2E.of(Record(index=0)) is None
