"""Whether the client was the limit of a contender: one decision for every text and table."""

from deadheat.report.model.view import Cell, ContenderView, RunView

CLIENT_LIMITS = frozenset({"client_cpu", "ceiling"})


def client_was_limit(view: RunView, contender: ContenderView, cell: Cell) -> bool:
    """Judged over all slices of a race in slices, else by most of the measured trials."""
    if cell.connections in view.sliced:
        return contender.name in view.sliced[cell.connections].client_gates
    measured = [trial for trial in cell.trials if trial.measured]
    limited = sum(any(g.code in CLIENT_LIMITS for g in t.gates_failed) for t in measured)
    return 2 * limited > len(measured)
