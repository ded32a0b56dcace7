"""A finding from a table: the same heading in every check."""

from collections.abc import Mapping, Sequence

from deadheat.boards.model import LiveBoard, Table
from deadheat.boards.readings import BoardFinding, Figure

ROWS_MAX = 5  # of each finding; `found` counts all


def finding_of(
    code: str,
    board: LiveBoard,
    table: Table,
    *,
    fires: bool,
    judged: int,
    found: int,
    values: Mapping[str, Figure],
    rows: Sequence[Mapping[str, Figure]] = (),
) -> BoardFinding:
    return BoardFinding(
        code=code,
        board=board.name,
        profile=table.profile,
        edition=table.edition,
        fires=bool(fires),
        judged=judged,
        found=found,
        values=dict(values),
        rows=tuple(dict(row) for row in rows),
    )
