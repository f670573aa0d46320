"""What is kept of one request: integers of nanoseconds and counts, so that many fit in memory."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = -1
"""Stands for a time that never came, or a count that the server did not tell."""


@dataclass(slots=True)
class Record:
    """One request as the client saw it; times are nanoseconds from the run's start."""

    index: int
    """The conversation's number in the plan."""
    turn: int = 0
    intended_ns: int = 0
    """When it was to be sent: what every latency counts from (no coordinated omission)."""
    sent_ns: int = UNKNOWN
    first_ns: int = UNKNOWN
    """Arrival of the first chunk with content; unknown for an answer that was not streamed."""
    last_ns: int = UNKNOWN
    """Arrival of the last chunk with content."""
    end_ns: int = UNKNOWN
    """The answer's end, or the failure."""
    status: int = UNKNOWN
    chunks: int = 0
    """Chunks with content."""
    longest_gap_ns: int = 0
    """The longest wait between two chunks with content."""
    input_tokens: int = UNKNOWN
    output_tokens: int = UNKNOWN
    cached_tokens: int = UNKNOWN
    priority: int = UNKNOWN
    connected: bool = False
    """Whether a connection was opened for it."""
    model: str = ""
    """The model that answered: `x-turnout-model`, else the answer's `model`."""
    team: str = ""
    error: str = ""
    """The error's kind (`errors.KINDS`), or empty."""
    detail: str = ""
    """What happened, in words; never prompts, answers or keys."""
    request_id: str = ""

    @property
    def ok(self) -> bool:
        """Says whether the answer came whole and without an error."""
        return not self.error
