"""A difference between A and B as a sentence."""

from __future__ import annotations

from turnout_load.report.units import signed

LATENCIES = {
    "ttft": "TTFT",
    "itl": "ITL",
    "itl_mean": "mean ITL of a request",
    "tpot": "TPOT",
    "e2e": "E2E",
    "normalized_latency": "normalized latency",
    "send_delay": "send delay",
}
OTHERS = {
    "goodput": "goodput",
    "cost": "cost",
    "output_tps": "output tokens per second of a request",
    "usd_per_million_tokens": "cost per million tokens",
    "usd_per_million_output_tokens": "cost per million output tokens",
    "requests_per_s": "requests per second",
    "input_tokens_per_s": "input tokens per second",
    "output_tokens_per_s": "output tokens per second",
    "prefix_cache": "prefix-cache share",
    "error_rate": "error rate",
}


def label(name: str) -> str:
    """Returns how people say a metric: `p95 TTFT` for `ttft.p95`."""
    metric, _, statistic = name.partition(".")
    words = (LATENCIES | OTHERS).get(metric, metric)
    return f"{statistic} {words}".strip()


def verdict(name: str, difference_percent: float, ci95_percent: tuple[float, float] | None) -> str:
    """Says whether B differs from A in a metric, and by how much of A's figure.

    A difference is seen only if its 95% interval leaves out 0. The interval is given as ± the
    farther of its ends, or by both ends where that would mislead.
    """
    if ci95_percent is None:
        return f"too few pairs to tell ({signed(difference_percent, 0)}%)"
    low, high = ci95_percent
    if low <= 0 <= high:
        return f"no difference seen ({_amount(difference_percent, low, high)})"
    amount = _amount(abs(difference_percent), *sorted((abs(low), abs(high))))
    metric = name.partition(".")[0]
    is_less = high < 0
    if metric in LATENCIES:
        return f"B is {amount} {'faster' if is_less else 'slower'} at {label(name)}"
    if metric == "cost" or metric.startswith("usd_"):
        return f"B is {amount} {'cheaper' if is_less else 'dearer'} at {label(name)}"
    return f"B's {label(name)} is {amount} {'lower' if is_less else 'higher'}"


def _amount(middle: float, low: float, high: float) -> str:
    near, far = sorted((middle - low, high - middle))
    decimals = 0 if far >= 1 else 1
    amount = f"{signed(middle, decimals)}%"
    misleads = far - 2 * near > 0.05 or (low > 0 and far >= middle)
    if misleads:
        return f"{amount} [{signed(low, decimals)}%, {signed(high, decimals)}%]"
    return f"{amount} ± {signed(far, decimals)}%"
