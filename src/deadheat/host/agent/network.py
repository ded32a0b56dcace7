"""The network as this machine sees it: free ports, addresses, one connection, the interface to an
address. Everything is read, nothing is changed.
"""

from __future__ import annotations

import array
import base64
import fcntl
import os
import random
import re
import socket
import ssl
import struct
import time
from pathlib import Path

from .kernel import numbered, read_text
from .program import Fault, Json

EXCHANGE_BYTES_MAX = 4 << 20
GET_MTU, ETHTOOL = 0x8921, 0x8946  # SIOCGIFMTU, SIOCETHTOOL of linux/sockios.h
GET_DRIVER, GET_FLAGS = 0x03, 0x25  # ETHTOOL_GDRVINFO, ETHTOOL_GFLAGS of linux/ethtool.h
GET_OFFLOADS = {"rx": 0x14, "tx": 0x16, "sg": 0x18, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}
LRO_FLAG = 1 << 15
DRIVER_INFO = struct.Struct("I32s32s32s32s")  # command, driver, version, firmware, bus
PCI_DEVICES = Path("/sys/bus/pci/devices")


class Ports:
    """Hands out free TCP ports, each only once while others are left.

    The ports are outside the kernel's range of client ports, if that leaves any. Otherwise a
    connection of a load test could take the port before the server does.
    """

    def __init__(self) -> None:
        text = read_text("/proc/sys/net/ipv4/ip_local_port_range") or "32768 60999"
        low, high = map(int, text.split())
        self.left = [port for port in range(10_000, 65_536) if not low <= port <= high]
        random.shuffle(self.left)

    def take(self) -> int:
        while self.left:
            port = self.left.pop()
            if is_free(port):
                return port
        with socket.socket() as probe:
            probe.bind(("", 0))
            return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def resolve(name: str) -> str:
    """The IPv4 address of a name."""
    try:
        addresses = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        raise Fault(f"no IPv4 address of {name}: {error}") from error
    return str(addresses[0][4][0])


def peer_address() -> str | None:
    """The address of the other side of the ssh connection that started this agent."""
    words = os.environ.get("SSH_CONNECTION", "").split()
    return words[0] if words else None


def local_address(to: str) -> str | None:
    """This machine's address on packets to another one; None if no route leads there."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((to, 9))  # sends nothing
        except OSError:
            return None
        return str(probe.getsockname()[0])


def exchange(
    host: str, port: int, payload: str, silence_s: float, deadline_s: float, tls: bool
) -> Json:
    """Send and receive base64; `deadline_s` bounds all of it, however often single bytes arrive.

    With `tls`, any certificate will do: it is the load that checks it.
    """
    where = f"{host}:{port}"
    content = base64.b64decode(payload)
    end_s = time.monotonic() + deadline_s
    try:
        connection = socket.create_connection((host, port), min(silence_s, deadline_s))
    except OSError as error:
        raise Fault(f"no connection to {where}: {error}") from error
    received = bytearray()
    closed, in_time = False, True
    if tls:
        connection = _secured(connection, host, where)
    with connection:
        try:
            connection.settimeout(max(0.001, end_s - time.monotonic()))
            connection.sendall(content)
            while not closed and in_time:
                left_s = end_s - time.monotonic()
                connection.settimeout(max(0.001, min(silence_s, left_s)))
                chunk = connection.recv(1 << 16)
                received += chunk
                closed, in_time = not chunk, time.monotonic() < end_s
                if len(received) > EXCHANGE_BYTES_MAX:
                    raise Fault(f"{where} sent more than {EXCHANGE_BYTES_MAX} bytes")
        except socket.timeout:  # noqa: UP041 (not TimeoutError before 3.10)
            in_time = time.monotonic() < end_s
        except OSError as error:
            if not received:
                raise Fault(f"{where} closed the connection: {error}") from error
            closed = True
    answer = base64.b64encode(received).decode()
    return {"received": answer, "closed": closed, "in_time": closed or in_time}


def _secured(connection: socket.socket, host: str, where: str) -> socket.socket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except OSError as error:
        connection.close()
        why = getattr(error, "reason", None) or str(error)
        raise Fault(f"no TLS with {where}: {why}; does it speak TLS on this port?") from error


def interface(address: str) -> Json | None:
    """The interface by which packets leave for an IPv4 address; None if no route leads there.

    `offloads` are named as `ethtool -K` names them. `interrupts` maps a CPU to the interrupts of
    the interface that it has served since the system started, `interrupt_targets` are the CPUs
    that the kernel sends them to now. Both are empty for an interface without hardware. Its name
    is left out: some systems make it from the hardware address.
    """
    name = interface_to(address)
    if name is None:
        return None
    driver, bus = driver_of(name)
    served, targets = interrupts(read_text("/proc/interrupts") or "", name, bus)
    return {
        "driver": driver,
        "mtu_bytes": mtu_bytes(name),
        "offloads": offloads(name),
        "interrupts": served,
        "interrupt_targets": targets,
    }


def interface_to(address: str) -> str | None:
    """The name of the interface; an address of this machine has the loopback interface."""
    own_address = local_address(address)
    if own_address in (None, address):
        return own_address and "lo"
    return route_to(read_text("/proc/net/route") or "", address)


def route_to(table: str, address: str) -> str | None:
    """The interface of the most specific route in the text of /proc/net/route."""
    wanted = struct.unpack("=I", socket.inet_aton(address))[0]
    best: tuple[int, int, str] | None = None
    for line in table.splitlines()[1:]:
        name, destination, _, flags, _, _, metric, mask = line.split()[:8]
        bits = int(mask, 16)
        if int(flags, 16) & 1 and wanted & bits == int(destination, 16):
            route = (bin(bits).count("1"), -int(metric), name)
            best = max(best, route) if best else route
    return best[2] if best else None


def mtu_bytes(name: str) -> int | None:
    answer = request(GET_MTU, struct.pack("16si20x", name.encode(), 0))
    return None if answer is None else int(struct.unpack("16si", answer[:20])[1])


def offloads(name: str) -> dict[str, bool]:
    """The offloads that the driver reports; the kernel answers as it does to `ethtool -k`."""
    states = {key: ethtool_value(name, number) for key, number in GET_OFFLOADS.items()}
    flags = ethtool_value(name, GET_FLAGS)
    states["lro"] = None if flags is None else flags & LRO_FLAG
    return {key: bool(state) for key, state in states.items() if state is not None}


def driver_of(name: str) -> tuple[str | None, str]:
    """The driver, and the place on the bus or ``."""
    answer = ethtool(name, GET_DRIVER, 196)
    if answer is None:
        return None, ""
    _, driver, _, _, bus = DRIVER_INFO.unpack(answer[: DRIVER_INFO.size])
    return text_of(driver) or None, text_of(bus)


def text_of(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")


def ethtool_value(name: str, command: int) -> int | None:
    answer = ethtool(name, command, 8)
    return None if answer is None else int(struct.unpack("II", answer)[1])


def ethtool(name: str, command: int, size: int) -> bytes | None:
    """What the kernel answers to a command of ethtool; None if the driver has no answer."""
    buffer = array.array("B", struct.pack("I", command).ljust(size, b"\0"))
    address = buffer.buffer_info()[0]
    if request(ETHTOOL, struct.pack("16sP16x", name.encode(), address)) is None:
        return None
    return buffer.tobytes()


def request(number: int, argument: bytes) -> bytes | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            return fcntl.ioctl(probe.fileno(), number, argument)
        except OSError:
            return None


def interrupts(table: str, name: str, bus: str) -> tuple[dict[str, int], list[int]]:
    """CPU -> interrupts served, and the CPUs that they are sent to, from /proc/interrupts."""
    header, *lines = table.splitlines() or [""]
    cpus = [word[3:] for word in header.split()]
    served = dict.fromkeys(cpus, 0)
    targets: set[int] = set()
    device = PCI_DEVICES / bus if bus else None
    numbers = {*numbered(device / "msi_irqs")} if device and (device / "msi_irqs").is_dir() else {}
    own_name = re.compile(rf"(?<![\w-]){re.escape(name)}(?!\w)")
    for line in lines:
        label, _, rest = line.partition(":")
        if not label.strip().isdigit():
            continue
        words = rest.split(None, len(cpus))
        kind = words[len(cpus)] if len(words) > len(cpus) else ""
        if int(label) not in numbers and not own_name.search(kind):
            continue
        counts = [int(word) for word in words[: len(cpus)]]
        for cpu, count in zip(cpus, counts):  # noqa: B905 (strict= needs 3.10)
            served[cpu] += count
        if any(counts):
            targets |= affinity(int(label))
    return {cpu: count for cpu, count in served.items() if count}, sorted(targets)


def affinity(number: int) -> set[int]:
    """The CPUs that the kernel sends an interrupt to."""
    folder = f"/proc/irq/{number}"
    ranges = read_text(f"{folder}/effective_affinity_list") or read_text(
        f"{folder}/smp_affinity_list"
    )
    return cpus_in(ranges or "")


def cpus_in(ranges: str) -> set[int]:
    """The CPUs of a list as Linux writes it, such as `0-3,6`."""
    ends = (part.partition("-") for part in ranges.split(",") if part)
    return {cpu for first, _, last in ends for cpu in range(int(first), int(last or first) + 1)}
