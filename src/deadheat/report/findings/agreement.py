"""How well two runs agree on the order of the contenders."""

from deadheat.report.findings.analysis import Level, analyze
from deadheat.report.model.view import RunView
from deadheat.stats.agreement import Agreement, compare


def agreements(first: RunView, second: RunView) -> dict[int, Agreement | None]:
    """Agreement by connection level, for the levels in both runs.

    None where one of the two has no ranking there, or fewer than two contenders are in both.
    """
    first_levels, second_levels = (
        {level.connections: level for level in analyze(view).levels} for view in (first, second)
    )
    return {
        connections: _agreement(level, second_levels[connections])
        for connections, level in first_levels.items()
        if connections in second_levels
    }


def _agreement(first: Level, second: Level) -> Agreement | None:
    if first.ranking is None or second.ranking is None:
        return None
    try:
        return compare(first.ranking, second.ranking)
    except ValueError:
        return None
