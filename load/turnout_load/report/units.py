"""Figures as text: as many digits as one reads, always with their unit."""

from __future__ import annotations

NONE = "\N{EN DASH}"
"""Stands where nothing was measured."""


def signed(value: float, decimals: int) -> str:
    """Returns a number with thousands separated and a true minus sign."""
    return f"{value:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def percent(value: float | None) -> str:
    """Returns a signed difference that is given in percent."""
    return NONE if value is None else f"{signed(value, 1)}%"


def number(value: float | None) -> str:
    """Returns about three digits."""
    if value is None:
        return NONE
    size = abs(value)
    decimals = 0 if size >= 100 or value == 0 else 1 if size >= 10 else 2 if size >= 0.1 else 4
    return signed(value, decimals)


def milliseconds(value: float | None) -> str:
    """Returns a time given in ms, in ms below 10 s, else in seconds."""
    if value is None:
        return NONE
    return f"{number(value)} ms" if value < 10_000 else f"{number(value / 1000)} s"


def share(value: float | None) -> str:
    """Returns a fraction as a percentage; 100% and 0% are said only of what is exactly that."""
    if value is None:
        return NONE
    text = f"{value * 100:.1f}%"
    if text == "100.0%":
        return "100%" if value == 1 else ">99.9%"
    if text == "0.0%":
        return "0%" if value == 0 else "<0.1%"
    return text


def usd(value: float | None) -> str:
    """Returns an amount in cents from one dollar up, else in two digits that count."""
    if value is None:
        return NONE
    if value >= 1 or value == 0:
        return f"${value:,.2f}"
    return f"${value:.4f}" if value >= 0.01 else f"${value:.2g}"


def seconds(value: float) -> str:
    """Returns a length of time given in seconds, from 10 minutes up in minutes."""
    return f"{value:,.4g} s" if value < 600 else f"{number(value / 60)} min"
