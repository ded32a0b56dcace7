"""The result so far of a race in slices, for a live display: no model is fitted for it."""

from collections.abc import Sequence

from deadheat.campaign.context import RunContext
from deadheat.campaign.slice_standings import SliceStandings
from deadheat.events import Board, BoardRow
from deadheat.measure.gates.judge import BLOCK_GATES
from deadheat.stats.decision import Verdict
from deadheat.stats.known_interval import without_interval
from deadheat.store import TrialRecord

OF_THE_MACHINE = frozenset(gate.__name__ for gate in BLOCK_GATES)


def board(
    run: RunContext,
    standings: SliceStandings,
    block: int,
    records: Sequence[TrialRecord],
) -> Board:
    """The standings after a block with these trials."""
    protocol = run.protocol
    level = protocol.main_level
    ranking = standings.last_ranking
    unknown = without_interval(ranking) if ranking else ()
    rows_of_look = ranking.rows if ranking else ()
    ranks = {row.name: row.rank for row in rows_of_look if row.name not in unknown}
    undecided = set(standings.undecided_names)
    rows = [
        BoardRow(
            name=name,
            rate_per_s=standings.rate_per_s(name, level),
            rank=ranks.get(name),
            instances=standings.instances(name),
            open=name in undecided,
        )
        for name in standings.names
    ]
    rows.sort(key=lambda row: -(row.rate_per_s or 0.0))
    gates = {gate.code for record in records for gate in record.gates if not gate.passed}
    decided = None
    if ranking is not None:
        decided = sum(pair.verdict is not Verdict.UNDECIDED for pair in ranking.neighbors)
    return Board(
        rows=tuple(rows),
        connections=level.connections,
        workload=level.workload if len(protocol.workload_names) > 1 else None,
        block=block,
        decided=decided,
        pairs=max(len(rows) - 1, 0),
        elapsed_s=run.now_s(),
        budget_s=run.ends_s,
        disturbed=tuple(sorted(gates & OF_THE_MACHINE)),
    )
