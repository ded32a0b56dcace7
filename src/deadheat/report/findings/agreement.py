"""Two runs side by side: do they tell the same order?"""

from deadheat.report.findings.analysis import Level, analyze
from deadheat.report.model.view import RunView
from deadheat.stats.agreement import Agreement, compare


def agreements(first: RunView, second: RunView) -> dict[int, Agreement | None]:
    """Agreement by connection level, for the levels that both runs hold.

    None where one of the two has no order there, or fewer than two contenders are in both.
    """
    levels = [{level.connections: level for level in analyze(v).levels} for v in (first, second)]
    shared = [connections for connections in levels[0] if connections in levels[1]]
    return {at: _agreement(levels[0][at], levels[1][at]) for at in shared}


def _agreement(first: Level, second: Level) -> Agreement | None:
    if first.ranking is None or second.ranking is None:
        return None
    try:
        return compare(first.ranking, second.ranking)
    except ValueError:
        return None
