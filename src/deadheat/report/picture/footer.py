"""Below every picture: what was run, and what its whiskers are."""

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.report.picture import svg


def footer(view: RunView, analysis: Analysis, y: float, whiskers: bool = True) -> list[str]:
    """A part a line; `y` is the first one's baseline."""
    server = next((host for host in view.hosts if host.role == "server"), None)
    machine = format.machine(server.fingerprint) if server else "no host known"
    lines = [
        f"{_load(view, analysis)}; {format.moment(view.started_at)}, run {view.run_id}",
        *([_whiskers(analysis)] if whiskers else ()),
        machine,
    ]
    return [
        svg.text(16, y + svg.STEP * i, text, fill=svg.MUTED, size=11, longest=125)
        for i, text in enumerate(lines)
    ]


def _load(view: RunView, analysis: Analysis) -> str:
    protocol = view.protocol.get("name", "?")
    connections = format.count(analysis.main.connections, "connection") if analysis.levels else ""
    return f"protocol {protocol}, {connections}"


def _whiskers(analysis: Analysis) -> str:
    ranking = analysis.main.ranking
    if ranking is None:
        return "whiskers: the slowest and the fastest trial"
    held = format.percent(ranking.level.confidence, 0)
    told = f"whiskers: interval of the ratio to the fastest, all together at {held}"
    return f"{told}; none where it says nothing"
