"""Every defect an audit looks for; each is a pure function of the case."""

from collections.abc import Callable, Iterator

from deadheat.audit import (
    defects_aggregate,
    defects_connections,
    defects_counting,
    defects_limits,
    defects_rows,
)
from deadheat.audit.case import Case, Defect

FAMILIES: tuple[Callable[[Case], Iterator[Defect]], ...] = (
    defects_connections.per_connection,
    defects_rows.workers,
    defects_rows.payload,
    defects_rows.restarts,
    defects_connections.unserved,
    defects_counting.errors_counted,
    defects_counting.request_cap,
    defects_aggregate.best_of,
    defects_aggregate.one_sample,
    defects_aggregate.wrong_mean,
    defects_aggregate.cold_start,
    defects_aggregate.unresolved,
    defects_limits.closed_loop,
    defects_limits.client,
    defects_limits.same_machine,
    defects_rows.untold,
)


def find_defects(case: Case) -> tuple[Defect, ...]:
    """What was found, in the order in which it is looked for."""
    return tuple(defect for family in FAMILIES for defect in family(case))
