"""Every defect an audit looks for; each is a pure function of the case."""

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
    rows.untold,
)


def find_defects(case: Case) -> tuple[Defect, ...]:
    """What was found, in the order in which it is looked for."""
    return tuple(defect for family in FAMILIES for defect in family(case))
