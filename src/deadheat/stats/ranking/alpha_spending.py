"""Repeated looks at a race at a fixed total error: declared looks with a spending function.

A race is judged after some blocks, and continues if it is not settled. Each look that could
stop it spends a share of the allowed error (Lan & DeMets 1983). The shares add up to one,
however long the race continues. Looks are declared before any data as fractions of the
budget: a geometric series that includes the end of the budget.

The union bound combines the shares, and assumes nothing about how looks depend on each
other. That matters here: start-to-start variance makes them dependent, and is estimated with
few degrees of freedom. A joint boundary would make the intervals of the last look 5.6 %
narrower with two contenders, 1.5 % with eight and 0.8 % with 24 (`bench/joint_boundary.py`).
Two contenders are the case in which simulated races already err most (docs/statistics.md), so
there is nothing to give away.

We also tried an asymptotic confidence sequence (Waudby-Smith et al. 2024). Simulated with
8 contenders, 3 invocations and 60 blocks, its intervals are 34 % wider at the end of the
budget, because its nominal level there lies far out in the tail of t. Its only advantage is a
look after every block.
"""

from dataclasses import dataclass

from deadheat import numbers


@dataclass(frozen=True)
class ErrorLevel:
    """The error allowed for one interval, so that all intervals hold jointly at `confidence`."""

    confidence: float = 0.95
    comparisons: int = 1
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence {self.confidence}: expected a number between 0 and 1")
        if self.comparisons < 1:
            raise ValueError(f"{self.comparisons} comparisons: expected at least 1")
        if not 0 < self.share <= 1:
            raise ValueError(f"share {self.share} of the error: expected above 0 and at most 1")

    @property
    def alpha(self) -> float:
        """Two-sided error of one interval at this look."""
        return (1 - self.confidence) * self.share / self.comparisons

    def __str__(self) -> str:
        over = f" jointly over {self.comparisons} pairs" if self.comparisons > 1 else ""
        spent = f", spending {numbers.percent(self.share)} of the error" if self.share < 1 else ""
        return f"{numbers.percent(self.confidence, 0)}{over}{spent}"


@dataclass(frozen=True)
class Looks:
    """Looks at fractions of the budget: `count` of them up to 1, each `ratio` times the last.

    `reserve` is the share of the error kept for a race that continues past its budget. The
    defaults give looks at 0.20, 0.30, 0.44, 0.67 and 1, then at 1.5, 2.25 and so on.
    """

    count: int = 5
    ratio: float = 1.5
    reserve: float = 0.1

    def __post_init__(self) -> None:
        if self.count < 1 or self.ratio <= 1 or not 0 <= self.reserve < 1:
            raise ValueError(f"{self}: expected count >= 1, ratio > 1 and 0 <= reserve < 1")

    def fraction(self, look: int) -> float:
        """Fraction of the budget at which look number `look` (from 0) is due."""
        return float(self.ratio ** (look - self.count + 1))

    def due(self, progress: float, taken: int | None = None) -> int | None:
        """The latest look declared at or before `progress` and after look `taken`, or None.

        `progress` is the spent fraction of the budget; it is above 1 once the budget is exceeded.
        """
        latest = -1
        while self.fraction(latest + 1) <= progress + 1e-9:
            latest += 1
        before = -1 if taken is None else taken
        return latest if latest > before else None

    def share(self, look: int, taken: int | None = None) -> float:
        """Share of the error that `look` may spend if `taken` was the previous look.

        A look that is skipped (because too few invocations are complete) leaves its share to
        the next one.
        """
        before = 0.0 if taken is None else self.spent(self.fraction(taken))
        return self.spent(self.fraction(look)) - before

    def extension_share(self, number: int) -> float:
        """Share of the error for the only look at extension `number` (from 1), at its end.

        An extension follows a race that has spent its budget, and with it all but the reserve. Each
        spends half of what is left, so the shares of any number of them add up to the reserve.
        """
        return float(self.reserve / 2**number)

    def spent(self, progress: float) -> float:
        """Share of the error spent up to `progress`: quadratic up to the budget, 1 in the limit.

        Late looks, which have the most data, get the largest shares. Early looks settle only
        large differences, and a small share suffices (Jennison & Turnbull 1999, chapter 7).
        """
        if progress <= 1:
            return (1 - self.reserve) * progress**2
        return 1 - self.reserve / progress
