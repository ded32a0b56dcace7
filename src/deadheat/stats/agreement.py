"""Agreement of two rankings of the same contenders."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import NORMAL, Floats
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import Ranking

_FEWEST_FOR_AN_INTERVAL = 5


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau-b of two rankings with its interval, and the pairs that they order differently.

    `inversions` are the pairs that both rankings separate, in opposite order. `tau_b_of_separated`
    counts a pair that is not separated as a tie; it is NaN if either ranking separates no pair.
    """

    tau_b: float
    low: float
    high: float
    contenders: int
    tau_b_of_separated: float
    inversions: tuple[tuple[str, str], ...]

    @property
    def has_interval(self) -> bool:
        """Whether there are enough contenders for an interval."""
        return self.contenders >= _FEWEST_FOR_AN_INTERVAL and not math.isnan(self.tau_b)


def compare(first: Ranking, second: Ranking, confidence: float = 0.95) -> Agreement:
    """Agreement over the contenders in both rankings. Raises ValueError for fewer than two."""
    places = [{row.name: place for place, row in enumerate(run.rows)} for run in (first, second)]
    names = sorted(places[0].keys() & places[1].keys(), key=places[0].__getitem__)
    if len(names) < 2:
        raise ValueError(f"{len(names)} contenders in both rankings: expected at least 2")
    tau = tau_b(*([by_name[name] for name in names] for by_name in places))
    low, high = tau_interval(tau, len(names), confidence)
    return Agreement(
        tau_b=tau,
        low=low,
        high=high,
        contenders=len(names),
        tau_b_of_separated=_tau_b(*(signs(run, names) for run in (first, second))),
        inversions=inversions(names, first, second),
    )


def tau_b(x: Sequence[float] | npt.ArrayLike, y: Sequence[float] | npt.ArrayLike) -> float:
    """Kendall's tau-b (Kendall 1945), corrected for ties; NaN if x or y is constant."""
    of_both = [np.sign(np.subtract.outer(values, values)) for values in map(np.asarray, (x, y))]
    if of_both[0].shape != of_both[1].shape:
        raise ValueError("the two rankings differ in length")
    return _tau_b(*of_both)


def tau_interval(tau: float, contenders: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of tau for contenders drawn like these; (-1, 1) for fewer than five.

    Fisher's z with variance 0.437 / (n - 4): Fieller, Hartley & Pearson 1957. Perfect
    agreement would make z infinite, so it counts as half a discordant pair less.
    """
    if contenders < _FEWEST_FOR_AN_INTERVAL or math.isnan(tau):
        return -1.0, 1.0
    edge = 1 - 2 / (contenders * (contenders - 1))
    center = math.atanh(min(max(tau, -edge), edge))
    reach = NORMAL.inv_cdf((1 + confidence) / 2) * math.sqrt(0.437 / (contenders - 4))
    return min(math.tanh(center - reach), tau), max(math.tanh(center + reach), tau)


def inversions(
    names: Sequence[str], first: Ranking, second: Ranking
) -> tuple[tuple[str, str], ...]:
    """Pairs of `names` that both rankings separate, in opposite order."""
    opposite = signs(first, names) * signs(second, names) < 0
    return tuple((names[a], names[b]) for a, b in np.argwhere(np.triu(opposite, k=1)))


def signs(ranking: Ranking, names: Sequence[str]) -> Floats:
    """1 where the row is separated and faster than the column, -1 where slower, else 0."""
    places = {name: place for place, name in enumerate(names)}
    separated = [
        (places[pair.faster], places[pair.slower])
        for pair in ranking.pairs
        if pair.verdict is Verdict.SEPARATED and pair.faster in places and pair.slower in places
    ]
    matrix = np.zeros((len(names), len(names)))
    if separated:
        faster, slower = np.array(separated).T
        matrix[faster, slower], matrix[slower, faster] = 1.0, -1.0
    return matrix


def _tau_b(first: Floats, second: Floats) -> float:
    """Tau-b of two matrices of signs."""
    untied = math.sqrt(float((first**2).sum()) * float((second**2).sum()))
    return float((first * second).sum()) / untied if untied else math.nan
