"""What was run, where and how: the lines above the tables."""

import shlex

from deadheat.campaign.schedule import PROCESSES
from deadheat.report import format
from deadheat.report.findings.analysis import Analysis
from deadheat.report.findings.link import link_lines
from deadheat.report.model.view import RunView
from deadheat.store import Resumption


def heading(view: RunView, analysis: Analysis) -> list[str]:
    """A title, then what was measured, when, on what and with what."""
    contenders = format.count(len(view.contenders), "contender")
    lines = [
        f"{contenders} under protocol {view.protocol.label}: {_state(view)}",
        f"run {view.run_id}, {format.moment(view.started_at)}",
        _measured(view, analysis),
        *_resumed(view),
        *_imported(view),
        *_machines(view),
        f"{view.generator_version}, deadheat {view.deadheat_version}, seed {view.seed}",
    ]
    return [format.plain(line) for line in lines]


def command_line(view: RunView) -> str:
    """The command of the run, quoted for a shell."""
    return format.plain(shlex.join(view.command))


def _state(view: RunView) -> str:
    """`settled after 4 min`, `interrupted after 20 s`, or `the run is still under way`."""
    if view.state in format.UNENDED:
        return format.UNENDED[view.state]
    why = view.conclusion.why or view.state
    text = why if view.state in ("complete", why) else f"{view.state}: {why}"
    return f"{text} after {format.duration(view.race_s)}"


def _resumed(view: RunView) -> list[str]:
    """When the run was resumed; trials after that are from fresh processes."""
    return [
        f"{_resumption(resumption)} {format.moment(resumption.at)} "
        f"after {format.count(resumption.trials, 'trial')}, with fresh processes"
        for resumption in view.conclusion.resumed
    ]


def _resumption(resumption: Resumption) -> str:
    more_s = resumption.more_s
    return "resumed" if more_s is None else f"given {format.duration(more_s)} more on"


def _imported(view: RunView) -> list[str]:
    """The origin of an imported run."""
    imported = view.conclusion.imported
    return [f"imported from {imported.bundle}: measured elsewhere"] if imported else []


def _measured(view: RunView, analysis: Analysis) -> str:
    levels = ", ".join(f"{connections:,}" for connections in view.levels)
    kept = "keep-alive" if view.protocol.keep_alive else "a connection per request"
    load = f"at {levels} connections, {kept}"
    if view.trials == 0:
        return f"{load}: no trial"
    if not view.races:
        return f"{load}: {format.count(view.trials, 'trial')} at offered rates"
    trials = format.count(view.trials, "trial")
    duration = format.duration(view.protocol.duration_s)
    if (rule := view.protocol.slices) is not None:
        return (
            f"{load}: {trials} of up to {format.count(rule.rounds, 'slice')} of {duration}, in "
            f"{format.count(analysis.blocks, 'block')}; up to "
            f"{format.count(analysis.invocations, 'fresh start')} of each"
        )
    text = f"{load}: {trials} of {duration}"
    if view.protocol.residency == "alone":
        return f"{text}, {_alone(view)}"
    return (
        f"{text} in {format.count(analysis.blocks, 'block')} over "
        f"{format.count(analysis.invocations, 'fresh start')}"
    )


def _alone(view: RunView) -> str:
    """`3 repetitions of each, a process for each contender; for each trial of PHP 5`."""
    repetitions = format.count(view.protocol.stopping.repetitions, "repetition")
    processes = PROCESSES[view.protocol.restart]
    shown = {contender.label for contender in view.contenders}
    others = [
        f"{PROCESSES[policy]} of {label}"
        for label, policy in view.protocol.restarts.items()
        if label in shown
    ]
    return "; ".join(
        [f"{repetitions} of each, one contender after the other, {processes}", *others]
    )


def _machines(view: RunView) -> list[str]:
    """One line where both roles are the same machine, else one each and those of the link."""
    described = {host.role: format.machine(host.fingerprint) for host in view.hosts}
    cpus = {host.role: format.ranges(host.cpus) for host in view.hosts}
    link = link_lines(view)
    if len(described) == 2 and len(set(described.values())) == 1 and not link:
        roles = " and ".join(f"{role} on CPU {cpus[role]}" for role in described)
        return [f"{next(iter(described.values()))}; {roles}"]
    machines = [f"{role}: {described[role]}, CPU {cpus[role]}" for role in described]
    return machines + link
