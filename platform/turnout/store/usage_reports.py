"""Usage reports from the database."""

from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.capacity import capacity_in
from turnout.store.usage import tokens_in, usage_sums
from turnout.usage.question import BUCKET_S, Question
from turnout.usage.report import Report, report_of


class StoredReports:
    """Reports on the records and the capacity that the database has."""

    def __init__(self, store: AsyncEngine) -> None:
        self.store = store

    async def report(self, question: Question) -> Report:
        """Returns the report; raises `BadQuestion` where it would be too long."""
        bucket_s = BUCKET_S[question.bucket] if question.bucket else None
        return report_of(
            question,
            await usage_sums(self.store, question),
            await capacity_in(self.store, question.hours_s, bucket_s),
            await tokens_in(self.store, question.hours_s, question.bucket),
        )
