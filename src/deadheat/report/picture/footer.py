"""The end of every picture: its footer, and the document around all of it."""

from collections.abc import Sequence

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.report.picture import svg
from deadheat.workload import HELLO


def with_footer(
    view: RunView,
    analysis: Analysis,
    title: str,
    parts: Sequence[str],
    y: float,
    whiskers: bool = False,
    workloads: str | None = None,
) -> str:
    """The whole SVG: `parts`, then a footer whose first baseline is at `y`.

    The footer names the protocol, the run and the machine; with `whiskers` also what they are.
    `workloads` is what it shows, if that is not the view's workload alone.
    """
    server = next((host for host in view.hosts if host.role == "server"), None)
    lines = [
        f"{_load(view, analysis, workloads)}; {format.moment(view.started_at)}, run {view.run_id}",
        *([_whiskers(analysis)] if whiskers else ()),
        format.machine(server.fingerprint) if server else "unknown machine",
    ]
    footer = [
        svg.text(16, y + svg.STEP * i, text, fill=svg.MUTED, size=11, longest=125)
        for i, text in enumerate(lines)
    ]
    return svg.document(y + svg.STEP * len(footer), title, [*parts, *footer])


def _load(view: RunView, analysis: Analysis, workloads: str | None) -> str:
    protocol = view.protocol.name
    connections = format.count(analysis.main.connections, "connection") if analysis.levels else ""
    if workloads is None and (len(view.workloads) > 1 or view.workload != HELLO):
        workloads = f"workload {view.workload}"
    return ", ".join(filter(None, [f"protocol {protocol}", workloads, connections]))


def _whiskers(analysis: Analysis) -> str:
    ranking = analysis.main.ranking
    if ranking is None:
        return "whiskers: the slowest and the fastest trial; hatched: no valid trial"
    confidence = format.percent(ranking.level.confidence, 0)
    return (
        f"whiskers: interval of the ratio to the fastest, jointly at {confidence}; "
        "a fading line: unknown; hatched: not ranked"
    )
