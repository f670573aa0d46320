"""Where usage reports come from."""

from typing import Protocol

from turnout.usage.question import Question
from turnout.usage.report import Report


class Reports(Protocol):
    """Answers questions about usage."""

    async def report(self, question: Question) -> Report:
        """Returns the report; raises `BadQuestion` where it would be too long."""
        ...
