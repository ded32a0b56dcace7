"""The link between two hosts in lines: what it adds, the interfaces, what was lost on it."""

from collections.abc import Iterator, Mapping
from typing import Any

from deadheat.report import format
from deadheat.report.model.link_losses import HostLosses
from deadheat.report.model.view import RunView

# Of each slice, to the agent of a role: thaw, freeze, dropped connections; one slice of load.
REQUESTS = {"server": 3, "load": 1}


def link_lines(view: RunView) -> list[str]:
    """None for a run on one machine."""
    fingerprints = {host.role: host.fingerprint for host in view.hosts}
    links = {role: each["link"] for role, each in fingerprints.items() if "link" in each}
    lines = [_times(links)] if links else []
    lines += [
        f"{role} host's interface: {_interface(each['interface'])}"
        for role, each in fingerprints.items()
        if isinstance(each.get("interface"), Mapping)
    ]
    return [*lines, *_losses(view)]


def _times(links: Mapping[str, Mapping[str, Any]]) -> str:
    """What the link adds to each slice; the load itself does not wait for it."""
    times = [
        f"{role} host {links[role]['agent_round_trip_us'] / 1000:.1f} ms"
        for role in sorted(links, reverse=True)
    ]
    slice_us = sum(link["agent_round_trip_us"] * REQUESTS[role] for role, link in links.items())
    return (
        f"two hosts: a request to the agent takes {', '.join(times)} over ssh, so each slice takes "
        f"about {slice_us / 1000:.1f} ms more, between loads{_network(links)}"
    )


def _network(links: Mapping[str, Mapping[str, Any]]) -> str:
    for link in links.values():
        if "network" in link:
            trip_us, bytes_per_s = link["network"]["round_trip_us"], link["network"]["bytes_per_s"]
            rate = f"{bytes_per_s * 8 / 1e6:,.0f} Mbit/s"
            return (
                f"; the null server answers in {trip_us / 1000:.2f} ms over the link, with {rate}"
            )
    return ""


def _interface(interface: Mapping[str, Any]) -> str:
    """`virtio_net, MTU 1,500 bytes, offloads gro, tso, interrupts on CPU 0,1`."""
    offloads = interface.get("offloads") or {}
    on = [name for name in sorted(offloads) if offloads[name]]
    mtu = interface.get("mtu_bytes")
    parts = [
        str(interface.get("driver") or "unknown driver"),
        f"MTU {mtu:,} bytes" if isinstance(mtu, int) else "unknown MTU",
        f"offloads {' '.join(on)}" if on else "no offloads",
        _interrupts(interface),
    ]
    return ", ".join(parts)


def _interrupts(interface: Mapping[str, Any]) -> str:
    served = interface.get("interrupt_cpus") or ()
    targets = interface.get("interrupt_targets") or ()
    if not served and not targets:
        return "no interrupts of its own"
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
