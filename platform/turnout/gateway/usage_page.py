"""`GET /v1/usage`: what the caller's own team used and what it cost."""

import json
import logging
import time

from turnout.access.caller import Caller
from turnout.gateway.errors import InvalidField, UsageNotKept, UsageUnavailable
from turnout.gateway.exchange import Exchange
from turnout.store.errors import FAILURES
from turnout.usage.question import BadQuestion, Question, parse_query, parse_question
from turnout.usage.report import Report, as_json
from turnout.usage.reports import Reports

log = logging.getLogger(__name__)
PATH = "/v1/usage"
RETRY_AFTER_S = 5


async def answer_usage(exchange: Exchange, caller: Caller, reports: Reports | None) -> None:
    """Answers with a report on the caller's team.

    Raises `InvalidField` for a parameter, `UsageNotKept` or `UsageUnavailable`.
    """
    if reports is None:
        raise UsageNotKept
    try:
        question = _question(exchange, caller)
        report = await _report(reports, question)
    except BadQuestion as error:
        raise InvalidField(error.param, error.problem) from None
    await exchange.answer(json.dumps(as_json(report)).encode())


def _question(exchange: Exchange, caller: Caller) -> Question:
    params = parse_query(exchange.query)
    if params.get("team", caller.team) != caller.team:
        raise BadQuestion("team", "a key sees the usage of its own team only")
    return parse_question({**params, "team": caller.team}, time.time())


async def _report(reports: Reports, question: Question) -> Report:
    try:
        return await reports.report(question)
    except FAILURES as error:
        log.warning("usage_report_failed", extra={"error": type(error).__name__})
        raise UsageUnavailable("usage cannot be read now", RETRY_AFTER_S) from None
