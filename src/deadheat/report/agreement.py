"""Two runs side by side: do they tell the same order, and by how much do the rates differ?"""

from deadheat.report.analysis import Level, analyse
from deadheat.report.view import RunView
from deadheat.stats.agreement import Agreement, compare


def agreements(first: RunView, second: RunView) -> dict[int, Agreement | None]:
    """Agreement by connection level, for the levels that both runs hold.

    None where one of the two has no order there, or fewer than two contenders are in both.
    """
    levels = [{level.connections: level for level in analyse(v).levels} for v in (first, second)]
    shared = [connections for connections in levels[0] if connections in levels[1]]
    return {at: _agreement(levels[0][at], levels[1][at]) for at in shared}


def _agreement(first: Level, second: Level) -> Agreement | None:
    if first.ranking is None or second.ranking is None:
        return None
    try:
        return compare(first.ranking, second.ranking)
    except ValueError:
        return None


def lines(first: RunView, second: RunView) -> list[str]:
    """The comparison as text."""
    told = [f"{first.run_id} beside {second.run_id}"]
    for connections, agreement in agreements(first, second).items():
        told.append(f"at {connections} connections")
        told += [f"  {line}" for line in _told(agreement)]
        told += [f"  {line}" for line in _rates(first, second, connections)]
    if len(told) == 1:
        told.append("no connection level is in both runs")
    return told


def _told(agreement: Agreement | None) -> list[str]:
    if agreement is None:
        return ["no order in both: nothing to compare"]
    against = [f"{a} and {b}" for a, b in agreement.inversions]
    return [
        f"rank agreement  tau-b {agreement.tau_b:.3f} [{agreement.low:.3f}, {agreement.high:.3f}] "
        f"over {agreement.contenders} contenders",
        f"of the groups   tau-b {agreement.tau_b_of_groups:.3f}, a dead heat counted as a tie",
        f"inversions      {'; '.join(against) or 'none'} (separated in both, in opposite order)",
    ]


def _rates(first: RunView, second: RunView, connections: int) -> list[str]:
    cells = [
        {one.name: one.cells[connections] for one in view.rivals if connections in one.cells}
        for view in (first, second)
    ]
    told = []
    for name in (name for name in cells[0] if name in cells[1]):
        rates = [by_name[name].rate_per_s("median") for by_name in cells]
        if rates[0] and rates[1]:
            told.append(
                f"{name:28} {rates[0]:>10,.0f} {rates[1]:>10,.0f}  {rates[1] / rates[0]:.3f}"
            )
    return [f"{'requests/s':28} {'first':>10} {'second':>10}  second / first", *told]
