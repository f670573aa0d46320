import logging

import pytest

from turnout.limits.alerts import BudgetAlert, log_alert
from turnout.limits.amounts import Subject


def test_an_alert_is_one_structured_event(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        log_alert(BudgetAlert(Subject("team", "search"), "day", 8.5, 10.0))
    [record] = caplog.records
    told = {name: record.__dict__[name] for name in ("subject", "subject_name", "period")}
    assert record.getMessage() == "budget_alert"
    assert told == {"subject": "team", "subject_name": "search", "period": "day"}
    assert (record.__dict__["spent_usd"], record.__dict__["budget_usd"]) == (8.5, 10.0)
