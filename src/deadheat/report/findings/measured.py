"""What was measured, in one line: servers, connections, CPUs, time and confidence."""

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.workload import HELLO


def measured(view: RunView, analysis: Analysis) -> str:
    """`8 servers, 100 connections, 1 server CPU, settled after 4 min 20 s, 95 % confidence`."""
    levels = format.listing([f"{connections:,}" for connections in view.levels])
    noun = "connection" if view.levels == (1,) else "connections"
    parts = [format.count(len(view.contenders), "server"), f"{levels} {noun}"]
    if not view.protocol.keep_alive:
        parts.append("a connection per request")
    if view.server_cpus:
        parts.append(format.count(view.server_cpus, "server CPU"))
    parts.append(_end(view))
    if view.protocol.name != "settle":
        parts.append(f"protocol {view.protocol.label}")
    elif len(view.workloads) > 1:
        parts.append(f"workloads {', '.join(view.workloads)}")
    elif view.workload != HELLO:
        parts.append(f"workload {view.workload}")
    if analysis.levels and (ranking := analysis.main.ranking) is not None:
        parts.append(f"{format.percent(ranking.level.confidence, 0)} confidence")
    if imported := view.conclusion.imported:
        parts.append(f"imported from {imported.bundle}")
    return format.plain(", ".join(parts))


def _end(view: RunView) -> str:
    """`settled after 4 min 20 s`, `interrupted after 20 s`, or that the run is under way."""
    if view.state in format.UNENDED:
        return format.UNENDED[view.state]
    why = view.conclusion.why or view.state
    if why == "settled" and len(view.contenders) == 1:
        why = "rate known"
    if view.state not in ("complete", why):
        why = f"{view.state}: {why}"
    return f"{why} after {format.duration(view.race_s)}"
