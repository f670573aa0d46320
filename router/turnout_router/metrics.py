"""How good a router's scores are, in the measures that the field uses."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def accuracy_at(share: float, strong: Floats, weak: Floats, difficulty: Floats) -> float:
    """Returns the mean outcome when that share of requests, hardest first, goes to strong.

    Requests with the same difficulty are taken in proportion: a tie counts as its expectation
    over random order.
    """
    _, inverse, sizes = np.unique(difficulty, return_inverse=True, return_counts=True)
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    budget = share * len(difficulty)
    to_strong = np.clip((budget - before) / sizes, 0.0, 1.0)[inverse]
    return float(np.mean(to_strong * strong + (1 - to_strong) * weak))


def apgr(strong: Floats, weak: Floats, difficulty: Floats) -> float:
    """Returns the average performance gap recovered (RouteLLM, arXiv 2406.18665).

    The area under accuracy over the share of strong calls at 0, 10, … 100 percent, less weak's
    area, as a fraction of strong's less weak's. 0.5 is random.
    """
    shares = np.linspace(0, 1, 11)
    curve = np.array([accuracy_at(share, strong, weak, difficulty) for share in shares])
    gap = np.mean(strong) - np.mean(weak)
    return float(np.trapezoid((curve - np.mean(weak)) / gap, shares))


def ece(right: Floats, probability: Floats, bins: int = 15) -> float:
    """Returns the expected calibration error over bins of equal mass."""
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, bins) if part.size]
    gaps = [abs(right[part].mean() - probability[part].mean()) * part.size for part in parts]
    return float(sum(gaps) / len(right))


def threshold_table(
    strong: Floats, weak: Floats, difficulty: Floats, thresholds: tuple[float, ...]
) -> list[dict[str, float]]:
    """Returns for each threshold the share that goes to strong and the quality that is kept.

    `quality` is the mean outcome divided by strong's own.
    """
    rows = []
    for threshold in thresholds:
        easy = difficulty >= threshold
        kept = np.where(easy, weak, strong).mean() / strong.mean()
        rows.append(
            {
                "threshold": threshold,
                "strong_share": round(float(1 - easy.mean()), 4),
                "quality": round(float(kept), 4),
            }
        )
    return rows
