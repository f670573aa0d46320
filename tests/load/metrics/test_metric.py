from __future__ import annotations

from turnout_load.metrics import METRICS
from turnout_load.metrics.metric import measure
from turnout_load.metrics.ttft import TTFT
from turnout_load.record import Record


def test_a_metric_is_measured_over_the_requests_that_have_it(
    streamed: Record, whole: Record
) -> None:
    measured = measure(TTFT, [streamed, whole, streamed])
    assert measured is not None
    assert (measured.count, measured.mean) == (2, 50)


def test_a_metric_that_no_request_has_is_not_measured(whole: Record) -> None:
    assert measure(TTFT, [whole]) is None


def test_every_metric_has_a_name_of_its_own() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.title for metric in METRICS}) == len(METRICS)
