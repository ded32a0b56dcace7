"""The list of all defects that an audit looks for."""

from collections.abc import Callable, Iterator

from deadheat.audit.case import Case, Defect
from deadheat.audit.defects import aggregate, connections, counting, limits, rows

FAMILIES: tuple[Callable[[Case], Iterator[Defect]], ...] = (
    connections.per_connection,
    rows.workers,
    rows.payload,
    rows.restarts,
    connections.unserved,
    counting.errors_counted,
    counting.request_cap,
    aggregate.best_of,
    aggregate.one_sample,
    aggregate.wrong_mean,
    aggregate.cold_start,
    aggregate.unresolved,
    limits.closed_loop,
    limits.client,
    limits.same_machine,
    rows.missing_rows,
)


def find_defects(case: Case) -> tuple[Defect, ...]:
    """All defects of the case, in the order of `FAMILIES`."""
    return tuple(defect for family in FAMILIES for defect in family(case))
