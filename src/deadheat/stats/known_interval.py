"""Which contenders of a ranking have no known interval."""

from collections import Counter

from deadheat.numbers import is_known
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Pair, Ranking


def without_interval(ranking: Ranking) -> frozenset[str]:
    """The fewest contenders to leave out so that each undecided pair has a known interval.

    An interval that excludes nothing is no reason to call two contenders a dead heat. Of a pair
    that has none, the one with more such pairs is named; of two alike, the slower one.
    """
    pairs = [pair for pair in ranking.pairs if _is_unknown(pair)]
    places = {row.name: place for place, row in enumerate(ranking.rows)}
    named: set[str] = set()
    while pairs:
        counts = Counter(name for pair in pairs for name in (pair.faster, pair.slower))
        worst = max(counts, key=lambda name: (counts[name], places[name]))
        named.add(worst)
        pairs = [pair for pair in pairs if worst not in (pair.faster, pair.slower)]
    if len(named) + 1 >= len(ranking.rows) > 1:  # one alone has no interval either
        named = {row.name for row in ranking.rows}
    return frozenset(named)


def dead_heats(ranking: Ranking) -> tuple[tuple[str, ...], ...]:
    """The groups of two or more in which every pair has a known interval, from the top."""
    unknown = [{pair.faster, pair.slower} for pair in ranking.pairs if _is_unknown(pair)]
    return tuple(
        names for names in ranking.dead_heats if not any(pair <= {*names} for pair in unknown)
    )


def _is_unknown(pair: Pair) -> bool:
    ratio = pair.ratio
    return pair.verdict is Verdict.UNDECIDED and not is_known(ratio.low, ratio.high)
