"""The profile of a run of several workloads as a table: servers by workloads."""

from deadheat.report import format
from deadheat.report.findings.profile import Profile, Share
from deadheat.report.model.column import NAME_MAX, Column

TITLE = "Profile: % of the best on each workload"


def profile_columns(overview: Profile) -> list[Column]:
    """A row for each server, a column for each workload: ratio to the best with its interval."""
    names = tuple(format.plain(row.name, NAME_MAX) for row in overview.rows)
    return [
        Column("server", names, right=False),
        *(
            Column(
                f"{format.plain(level.workload, NAME_MAX)}\nat {level.connections:,}",
                tuple(_cell(row.shares.get(level.workload)) for row in overview.rows),
                right=False,
                group=level.workload,
            )
            for level in overview.levels
        ),
    ]


def _cell(share: Share | None) -> str:
    """`61.2 [60.1–62.4]`; a dash where the server lacks the workload or has no rate."""
    if share is None or share.ratio is None:
        return format.NONE
    if share.low is None or share.high is None:
        return f"{100 * share.ratio:.1f} {format.UNKNOWN}"
    if share.low == share.high == 1:
        return "100"
    return f"{100 * share.ratio:.1f} [{100 * share.low:.1f}–{100 * share.high:.1f}]"
