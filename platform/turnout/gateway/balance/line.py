"""A straight line learned from recent points: y = a + b x, b never below 0. Pure arithmetic."""

PRIOR_POINTS = 0.5
"""How many points the prior weighs."""


class Line:
    """Least squares with exponential forgetting, from a prior that a few points outweigh.

    Ridge regression towards the prior: it holds where all points have the same x.
    """

    __slots__ = ("_at_zero", "_per_unit", "_prior", "_scale", "_sums", "kept")

    def __init__(self, at_zero: float, per_unit: float, scale: float, kept: float = 0.95) -> None:
        """`scale` is an ordinary x; `kept` is the share of their weight that old points keep."""
        self._prior = (at_zero, per_unit * scale)
        self._scale = scale
        self.kept = kept
        self._sums = (0.0, 0.0, 0.0, 0.0, 0.0)
        self._at_zero, self._per_unit = at_zero, per_unit

    @property
    def has_points(self) -> bool:
        """Whether anything was learned."""
        return self._sums[0] > 0

    @property
    def terms(self) -> tuple[float, float]:
        """The line's value at 0 and its slope."""
        return self._at_zero, self._per_unit

    def learn(self, x: float, y: float) -> None:
        """Takes in a point."""
        x /= self._scale
        n, sx, sy, sxx, sxy = (each * self.kept for each in self._sums)
        self._sums = n, sx, sy, sxx, sxy = n + 1, sx + x, sy + y, sxx + x * x, sxy + x * y
        prior_a, prior_b = self._prior
        n, sy = n + PRIOR_POINTS, sy + PRIOR_POINTS * prior_a
        sxx, sxy = sxx + PRIOR_POINTS, sxy + PRIOR_POINTS * prior_b
        slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
        intercept = (sy - slope * sx) / n
        if slope < 0:
            slope, intercept = 0.0, sy / n
        elif intercept < 0:
            slope, intercept = max(sxy / sxx, 0.0), 0.0
        self._at_zero, self._per_unit = intercept, slope / self._scale

    def at(self, x: float) -> float:
        """Returns the line's value at x."""
        return self._at_zero + self._per_unit * x
