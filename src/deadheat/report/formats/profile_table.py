"""The profile of a run of several workloads as a table: servers by workloads."""

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.profile import Profile, Share
from deadheat.report.model.column import NAME_MAX, Column

TITLE = "Profile: % of the best on each workload"


def profile_columns(overview: Profile) -> list[Column]:
    """A row for each server, a column for each workload: ratio to the best with its interval."""
    names = tuple(one_line(row.name, NAME_MAX) for row in overview.rows)
    return [
        Column("server", names, right=False),
        *(
            Column(
                f"{one_line(level.workload, NAME_MAX)}\nat {level.connections:,}",
                tuple(_cell(row.shares.get(level.workload)) for row in overview.rows),
                right=False,
                group=level.workload,
            )
            for level in overview.levels
        ),
    ]


def _cell(share: Share | None) -> str:
    """`61.2 [60.1–62.4]`; a dash where the server lacks the workload or has no rate."""
    return numbers.NONE if share is None else numbers.of_leader(share.ratio, share.low, share.high)
