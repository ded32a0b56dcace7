"""The link between two hosts in lines: what it adds, the interfaces, what was lost on it."""

from collections.abc import Iterator, Mapping

from deadheat.host.fingerprint import FarHost, Interface
from deadheat.report import format
from deadheat.report.model.link_losses import HostLosses
from deadheat.report.model.view import RunView

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
        return f"interrupts go to CPU {format.ranges(targets)}, none during the probe"
    return f"interrupts on CPU {format.ranges(served)}"


def _losses(view: RunView) -> Iterator[str]:
    losses = view.link_losses
    if losses is None:
        return
    hosts = {"server": losses.server, "load": losses.load}
    sides = [f"the {role} host {_host_losses(each)}" for role, each in hosts.items()]
    resent, early = losses.client_segments_resent, losses.client_segments_out_of_order
    if resent is not None:
        sides.append(
            f"of the engine's connections, {format.count(resent, 'segment')} sent again and "
            f"{early or 0:,} received out of order"
        )
    yield f"during the trials: {'; '.join(sides)}"


def _host_losses(losses: HostLosses) -> str:
    resent, dropped = losses.segments_resent, losses.packets_dropped
    sent = "counts no retransmits" if resent is None else f"sent {_segments(resent)} again"
    if dropped is None:
        return f"{sent} and counts no drops"
    return f"{sent} and dropped {format.count(dropped, 'packet')}"


def _segments(number: int) -> str:
    return format.count(number, "TCP segment")
