"""A run of ours as the checks see it."""

from deadheat.boards.checks.beside import OwnRun
from deadheat.errors import DeadheatError
from deadheat.report.findings.analysis import analyze
from deadheat.report.model.view import RunView


def own_run(view: RunView) -> OwnRun:
    """The main level of a run. Raises `DeadheatError` if it ranks nothing."""
    level = analyze(view).main
    if level.ranking is None or len(level.ranking.rows) < 2:
        raise DeadheatError(
            f"run {view.run_id} ranks no two servers", "choose another run: deadheat report --list"
        )
    rates = {row.name: row.rate_median for row in level.ranking.rows}
    return OwnRun(view.run_id, level.connections, rates, level.ranking)
