"""The defects that an audit looks for in a stored replay and the published figures."""

from collections.abc import Callable, Iterator

from deadheat.audit.beside import Case
from deadheat.audit.defects import aggregate, counting, setup
from deadheat.report.model.evidence import Defect

FAMILIES: tuple[Callable[[Case], Iterator[Defect]], ...] = (
    counting.per_connection,
    setup.workers,
    setup.payload,
    setup.restarts,
    counting.unserved,
    counting.errors_counted,
    counting.request_cap,
    aggregate.best_of,
    aggregate.one_sample,
    aggregate.wrong_mean,
    aggregate.cold_start,
    aggregate.unresolved,
    setup.closed_loop,
    setup.client,
    setup.same_machine,
    setup.missing_rows,
)


def find_defects(case: Case) -> tuple[Defect, ...]:
    """All defects of the case, in the order of `FAMILIES`."""
    return tuple(defect for family in FAMILIES for defect in family(case))
