"""Printing to the terminal as it is: no markup, no wrapping."""

from __future__ import annotations

from rich.console import Console


def print_markdown(text: str) -> None:
    """Prints a text whose lines are already what a reader should see."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
