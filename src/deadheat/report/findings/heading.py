"""What was run, where and how: a line, the lines above the tables, and the method in sentences."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping

from deadheat import numbers
from deadheat.campaign.schedule import PROCESSES
from deadheat.foreign_text import one_line
from deadheat.host.fingerprint import FarHost, Interface
from deadheat.protocol import AloneProtocol, RateProtocol, SliceProtocol, StoredProtocol
from deadheat.report import wording
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.evidence import HostLosses
from deadheat.report.model.view import RunView
from deadheat.workload import HELLO

# Of each slice, to the server host: thaw, freeze, dropped connections. To a load host: the load; to
# each of several: load, measure, has measured, stop.
SERVER_REQUESTS, LOAD_REQUESTS, TOGETHER_REQUESTS = 3, 1, 4
# More of a slice with a database, to the server host: whether it runs and what it used, before and
# after the load.
DATABASE_REQUESTS = 6
SAME_MACHINE = (
    "hosts that share a machine: they are namespaces or containers of one machine and share its "
    "CPUs, so these rates are not those of separate machines"
)
INVALID = (
    "A trial that fails a check (errors, a client at its limit, another process on the CPUs, ...) "
    "is shown but not ranked."
)
RANKS = (
    "A rank is an interval where several places are possible. Braced rows are a dead heat: the "
    "data show that the contenders differ by less than the margin, or cannot separate them.",
    "All statements about one number of connections hold together at the stated confidence. They "
    "hold for these builds, on this machine, under this load.",
)


def heading(view: RunView, analysis: Analysis) -> list[str]:
    """A title, then what was measured, when, on what and with what."""
    contenders = numbers.count(len(view.contenders), "contender")
    lines = [
        f"{contenders} under protocol {view.protocol.label}: {_state(view)}",
        f"run {view.run_id}, {numbers.moment(view.started_at)}",
        _measured(view, analysis),
        *_tls(view),
        *_resumed(view),
        *_imported(view),
        *_machines(view),
        f"{view.generator_version}, deadheat {view.deadheat_version}, seed {view.seed}",
    ]
    return [one_line(line) for line in lines]


def command_line(view: RunView) -> str:
    """The command of the run, quoted for a shell."""
    return one_line(shlex.join(view.command))


def _state(view: RunView, settled: str = "settled") -> str:
    """`settled after 4 min`, `interrupted after 20 s`, or `the run is still under way`."""
    if view.state in wording.UNENDED:
        return wording.UNENDED[view.state]
    why = view.conclusion.why or view.state
    why = settled if why == "settled" else why
    text = why if view.state in ("complete", why) else f"{view.state}: {why}"
    return f"{text} after {numbers.duration(view.race_s)}"


def _resumed(view: RunView) -> Iterator[str]:
    """When the run was resumed; trials after that are from fresh processes."""
    for resumption in view.conclusion.resumed:
        more_s = resumption.more_s
        how = "resumed" if more_s is None else f"given {numbers.duration(more_s)} more on"
        after = numbers.count(resumption.trials, "trial")
        yield f"{how} {numbers.moment(resumption.at)} after {after}, with fresh processes"


def _imported(view: RunView) -> list[str]:
    """The origin of an imported run."""
    imported = view.conclusion.imported
    return [f"imported from {imported.bundle}: measured elsewhere"] if imported else []


def _measured(view: RunView, analysis: Analysis) -> str:
    levels = ", ".join(f"{connections:,}" for connections in view.levels)
    load = f"at {levels} connections, {_connections(view.protocol)}"
    if view.trials == 0:
        return f"{load}: no trial"
    if not view.races:
        return f"{load}: {numbers.count(view.trials, 'trial')} at offered rates"
    trials = numbers.count(view.trials, "trial")
    duration = _duration(view)
    if isinstance(view.protocol, SliceProtocol):
        rounds = view.protocol.slices.rounds
        return (
            f"{load}: {trials} of up to {numbers.count(rounds, 'slice')} of {duration}, in "
            f"{numbers.count(analysis.blocks, 'block')}; up to "
            f"{numbers.count(analysis.invocations, 'fresh start')} of each"
        )
    text = f"{load}: {trials} of {duration}"
    if isinstance(view.protocol, AloneProtocol):
        return f"{text}, {_alone(view, view.protocol)}"
    return (
        f"{text} in {numbers.count(analysis.blocks, 'block')} over "
        f"{numbers.count(analysis.invocations, 'fresh start')}"
    )


def _tls(view: RunView) -> Iterator[str]:
    """What the client and the servers agreed on, over each transport with TLS."""
    for each in (view, *view.later):
        servers = Counter(contender.tls for contender in each.contenders if contender.tls)
        several = len(servers) > 1
        used = [
            f"{tls} with {numbers.count(count, 'server')}" if several else tls
            for tls, count in servers.most_common()
        ]
        if used:
            yield f"{each.workload}: {'; '.join(used)}"


def _alone(view: RunView, protocol: AloneProtocol) -> str:
    """`3 repetitions of each, a process for each contender; for each trial of PHP 5`."""
    repetitions = numbers.count(protocol.stopping.repetitions, "repetition")
    processes = PROCESSES[protocol.restart]
    shown = {contender.label for contender in view.contenders}
    others = [
        f"{PROCESSES[policy]} of {label}"
        for label, policy in protocol.restarts.items()
        if label in shown
    ]
    return "; ".join(
        [f"{repetitions} of each, one contender after the other, {processes}", *others]
    )


def _machines(view: RunView) -> list[str]:
    """One line where both roles are the same machine, else one each and those of the link."""
    described = {host.role: wording.machine(host.fingerprint) for host in view.hosts}
    cpus = {host.role: numbers.ranges(host.cpus) for host in view.hosts}
    link = link_lines(view)
    if len(described) == 2 and len(set(described.values())) == 1 and not link:
        roles = " and ".join(f"{role} on CPU {cpus[role]}" for role in described)
        return [f"{next(iter(described.values()))}; {roles}"]
    machines = [f"{role}: {described[role]}, CPU {cpus[role]}" for role in described]
    return machines + link


def _connections(protocol: StoredProtocol) -> str:
    """`keep-alive, but a connection per request on connect`."""
    each = "a connection per request"
    if not protocol.keep_alive:
        return each
    closing = [workload.name for workload in protocol.workloads if workload.close]
    return f"keep-alive, but {each} on {numbers.listing(closing)}" if closing else "keep-alive"


def measured(view: RunView, analysis: Analysis) -> str:
    """`8 servers, 100 connections, 1 server CPU, settled after 4 min 20 s, 95 % confidence`."""
    levels = numbers.listing([f"{connections:,}" for connections in view.levels])
    noun = "connection" if view.levels == (1,) else "connections"
    parts = [numbers.count(len(view.contenders), "server"), f"{levels} {noun}"]
    if not view.protocol.keep_alive:
        parts.append("a connection per request")
    if view.server_cpus:
        parts.append(numbers.count(view.server_cpus, "server CPU"))
    parts.append(_state(view, "rate known" if len(view.contenders) == 1 else "settled"))
    if view.protocol.name != "settle":
        parts.append(f"protocol {view.protocol.label}")
    elif len(view.workloads) > 1:
        parts.append(f"workloads {', '.join(view.workloads)}")
    elif view.workload != HELLO:
        parts.append(f"workload {view.workload}")
    if analysis.levels and (ranking := analysis.main.ranking) is not None:
        parts.append(f"{numbers.percent(ranking.level.confidence, 0)} confidence")
    if imported := view.conclusion.imported:
        parts.append(f"imported from {imported.bundle}")
    return one_line(", ".join(parts))


def link_lines(view: RunView) -> list[str]:
    """None for a run on one machine."""
    fingerprints = {host.role: host.fingerprint for host in view.hosts}
    links = {role: each.link for role, each in fingerprints.items() if each.link is not None}
    loads = len(fingerprints) - 1
    lines = [SAME_MACHINE] if any(link.same_machine for link in links.values()) else []
    if links:
        lines += [_times(links, loads), *_database(view, links), *_skew(view, loads)]
    lines += [
        f"{_host(role)}'s interface: {_interface(each.interface)}"
        for role, each in fingerprints.items()
        if each.interface is not None
    ]
    return [*lines, *_losses(view)]


def _host(role: str) -> str:
    """`load 2` is `load host 2`."""
    name, _, number = role.partition(" ")
    return f"{name} host {number}".rstrip()


def _times(links: Mapping[str, FarHost], loads: int) -> str:
    """What the link adds to each slice; the load itself does not wait for it."""
    times = [
        f"{_host(role)} {links[role].agent_round_trip_us / 1000:.1f} ms"
        for role in sorted(links, key=lambda role: (role != "server", role))
    ]
    trips_us = {role: link.agent_round_trip_us for role, link in links.items()}
    slice_us = SERVER_REQUESTS * trips_us.pop("server", 0.0)
    requests = LOAD_REQUESTS if loads == 1 else TOGETHER_REQUESTS
    slice_us += requests * max(trips_us.values(), default=0.0)
    return (
        f"{'two' if loads == 1 else loads + 1} hosts: a request to the agent takes "
        f"{', '.join(times)} over ssh, so each slice takes about "
        f"{slice_us / 1000:.1f} ms more, between loads{_network(links)}"
    )


def _database(view: RunView, links: Mapping[str, FarHost]) -> Iterator[str]:
    """Where the workload's database ran, and what it adds to each slice of that workload."""
    contenders = (contender for each in view.by_workload for contender in each.contenders)
    trials = (trial for contender in contenders for trial in contender.trials)
    if all(trial.database_cpu_us_per_request is None for trial in trials):
        return
    text = "the database ran on the server host, on the CPUs of the server"
    if "server" in links:
        added_us = DATABASE_REQUESTS * links["server"].agent_round_trip_us
        text += f"; each of its slices takes about {added_us / 1000:.1f} ms more, between loads"
    yield text


def _skew(view: RunView, loads: int) -> list[str]:
    """How far the windows of several load hosts were apart."""
    if view.skew_us_max is None:
        return []
    return [
        f"{loads} load hosts: they began each slice at most {view.skew_us_max / 1000:.1f} ms apart "
        "(the mean of a trial, at most), and all of them loaded during all of it"
    ]


def _network(links: Mapping[str, FarHost]) -> str:
    for link in links.values():
        if (network := link.network) is not None:
            rate = f"{network.bytes_per_s * 8 / 1e6:,.0f} Mbit/s"
            answers = f"answers in {network.round_trip_us / 1000:.2f} ms over the link"
            return f"; the null server {answers}, with {rate}"
    return ""


def _interface(interface: Interface) -> str:
    """`virtio_net, MTU 1,500 bytes, offloads gro, tso, interrupts on CPU 0,1`."""
    on = [name for name in sorted(interface.offloads) if interface.offloads[name]]
    mtu = interface.mtu_bytes
    parts = [
        interface.driver or "unknown driver",
        "unknown MTU" if mtu is None else f"MTU {mtu:,} bytes",
        f"offloads {' '.join(on)}" if on else "no offloads",
        _interrupts(interface),
    ]
    return ", ".join(parts)


def _interrupts(interface: Interface) -> str:
    served, targets = interface.interrupt_cpus, interface.interrupt_targets
    if not served and not targets:
        return "no interrupts"
    if not served:
        return f"interrupts go to CPU {numbers.ranges(targets)}, none during the probe"
    return f"interrupts on CPU {numbers.ranges(served)}"


def _losses(view: RunView) -> Iterator[str]:
    losses = view.link_losses
    if losses is None:
        return
    hosts = {"server": losses.server, "load": losses.load}
    sides = [f"the {role} host {_host_losses(each)}" for role, each in hosts.items()]
    resent, early = losses.client_segments_resent, losses.client_segments_out_of_order
    if resent is not None:
        sides.append(
            f"of the engine's connections, {numbers.count(resent, 'segment')} sent again and "
            f"{early or 0:,} received out of order"
        )
    yield f"during the trials: {'; '.join(sides)}"


def _host_losses(losses: HostLosses) -> str:
    resent, dropped = losses.segments_resent, losses.packets_dropped
    segments = numbers.count(resent or 0, "TCP segment")
    sent = "counts no retransmits" if resent is None else f"sent {segments} again"
    if dropped is None:
        return f"{sent} and counts no drops"
    return f"{sent} and dropped {numbers.count(dropped, 'packet')}"


def method(view: RunView, analysis: Analysis) -> tuple[str, ...]:
    """What was done, then what the ranks mean if there are any, in sentences."""
    ranked = any(level.ranked for level in analysis.levels)
    return (*_schedule(view), *(RANKS if ranked else ()), *((INVALID,) if view.races else ()))


def _schedule(view: RunView) -> Iterator[str]:
    if isinstance(view.protocol, RateProtocol):
        yield _rates(view, view.protocol)
    elif not view.races:
        yield _search(view)
    elif isinstance(view.protocol, SliceProtocol):
        yield _slices(view, view.protocol.slices.rounds)
    elif isinstance(view.protocol, AloneProtocol):
        yield _alone_method(view, view.protocol)
        if view.protocol.recovery is not None:
            yield (
                "After each trial deadheat waited until the process was idle, and then until it "
                "was as fast as in its first trial."
            )
    else:
        yield _blocks(view)
    if view.races and any(contender.offered for contender in view.contenders):
        yield (
            "Latency was measured afterwards at fixed offered rates (open loop), from the moment "
            "each request was due."
        )


def _rates(view: RunView, protocol: RateProtocol) -> str:
    rounds = numbers.count(protocol.slices.rounds, "round")
    return (
        "deadheat started, verified and warmed up all contenders, at full load. In each block, at "
        f"each offered rate, {rounds} followed: one contender after the other was thawed and "
        f"loaded for one slice of about {_duration(view)}, while the others were frozen. Requests "
        "were due on a random schedule (open loop, Poisson arrivals), and a response time counts "
        "from the moment a request was due. CPU time and p99 are compared within blocks, and the "
        "intervals of a table hold together. A server that answered less than 99 % of the offered "
        "rate within the slices does not hold it, and has no rank there."
    )


def _search(view: RunView) -> str:
    return (
        "deadheat offered requests at fixed rates (open loop) to one contender after the other, "
        f"in trials of {_duration(view)}, and searched for the highest rate that held the "
        "objective. It does not compare contenders."
    )


def _slices(view: RunView, rounds_of_block: int) -> str:
    rounds = numbers.count(rounds_of_block, "round")
    return (
        "deadheat started, verified and warmed up all contenders. In each round, one contender "
        f"after the other was thawed and loaded for one slice of {_duration(view)}, or longer if "
        f"it is slow, while the others were frozen. {rounds} are a block. One model of all slices "
        "estimates the rates; it compares slices that are close in time, so a slower machine "
        "slows every contender."
    )


def _blocks(view: RunView) -> str:
    end = (
        "The run stopped at a declared look once the order was settled, or when the budget was "
        "spent."
        if view.settles
        else f"The plan had {numbers.count(view.repetitions or 1, 'block')}."
    )
    return (
        f"deadheat started, verified and warmed up all contenders. In each block, in random order, "
        f"one contender was loaded for {_duration(view)} while the others were frozen. Rates are "
        f"compared within blocks, so a slower machine slows every contender. {end}"
    )


def _alone_method(view: RunView, protocol: AloneProtocol) -> str:
    """Nothing cancels a change of the machine here, so it says so."""
    repetitions = numbers.count(protocol.stopping.repetitions, "repetition")
    processes = PROCESSES[protocol.restart]
    is_replay = protocol.origin is not None
    as_published = ", as in the comparison that this run repeats" if is_replay else ""
    alone = " No other contender was running." if is_replay else ""
    return (
        f"The contenders ran one after the other{as_published}: {repetitions} of "
        f"{_duration(view)} for each, {processes}.{alone} A change of the machine during the run "
        "therefore affects some contenders and not others."
    )


def _duration(view: RunView) -> str:
    return numbers.duration(view.protocol.duration_s)
