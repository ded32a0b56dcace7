"""What was measured, in one line: servers, connections, CPUs, time and confidence."""

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.protocol import label_of
from deadheat.report import wording
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.workload import HELLO


def measured(view: RunView, analysis: Analysis) -> str:
    """`8 servers, 100 connections, 1 server CPU, settled after 4 min 20 s, 95 % confidence`."""
    levels = numbers.listing([f"{connections:,}" for connections in view.levels])
    noun = "connection" if view.levels == (1,) else "connections"
    parts = [numbers.count(len(view.contenders), "server"), f"{levels} {noun}"]
    if not view.protocol.get("keep_alive", True):
        parts.append("a connection per request")
    if view.server_cpus:
        parts.append(numbers.count(view.server_cpus, "server CPU"))
    parts.append(_end(view))
    if view.protocol.get("name") != "settle":
        parts.append(f"protocol {label_of(view.protocol)}")
    elif len(view.workloads) > 1:
        parts.append(f"workloads {', '.join(view.workloads)}")
    elif view.workload != HELLO:
        parts.append(f"workload {view.workload}")
    if analysis.levels and (ranking := analysis.main.ranking) is not None:
        parts.append(f"{numbers.percent(ranking.level.confidence, 0)} confidence")
    if imported := view.conclusion.get("imported"):
        parts.append(f"imported from {imported['from']}")
    return one_line(", ".join(parts))


def _end(view: RunView) -> str:
    """`settled after 4 min 20 s`, `interrupted after 20 s`, or that the run is under way."""
    if view.state in wording.UNENDED:
        return wording.UNENDED[view.state]
    why = str(view.conclusion.get("why") or view.state)
    if why == "settled" and len(view.contenders) == 1:
        why = "rate known"
    if view.state not in ("complete", why):
        why = f"{view.state}: {why}"
    return f"{why} after {numbers.duration(view.race_s)}"
