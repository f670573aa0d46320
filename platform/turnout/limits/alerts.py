"""Budgets that are nearly spent: reported once per day or month and subject."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from turnout.limits.amounts import NANO, Subject
from turnout.limits.periods import Period

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BudgetAlert:
    """A budget whose spending has passed the share from which it is reported."""

    subject: Subject
    period: Period
    spent_usd: float
    budget_usd: float


OnAlert = Callable[[BudgetAlert], None]


def log_alert(alert: BudgetAlert) -> None:
    """Writes the alert to the log."""
    log.warning(
        "budget_alert",
        extra={
            "subject": alert.subject.kind,
            "subject_name": alert.subject.name,
            "period": alert.period,
            "spent_usd": alert.spent_usd,
            "budget_usd": alert.budget_usd,
        },
    )


def alert_of(subject: Subject, period: Period, spent: int, budget: int) -> BudgetAlert:
    """Returns an alert of amounts in billionths of a dollar."""
    return BudgetAlert(subject, period, spent / NANO, budget / NANO)
