"""What the limits of a kernel do to a measurement: one function a check, see `doctor`."""

from deadheat.host.machine import Finding, Machine

CONNECTION_LEVELS = (1_000, 10_000, 20_000)
DESCRIPTORS_BESIDE = 64  # a process holds these beside its connections
TIME_WAIT_S = 60  # TCP_TIMEWAIT_LEN, fixed in the kernel


def open_files(machine: Machine) -> Finding:
    hard = machine.fingerprint["open_files_hard"]
    reading = f"{machine.fingerprint['open_files_soft']} (may be raised to {hard})"
    held = [level for level in CONNECTION_LEVELS if hard >= level + DESCRIPTORS_BESIDE]
    if held == list(CONNECTION_LEVELS):
        return Finding("ok", "open files", reading, f"Enough for {held[-1]:,} connections.")
    room = f"enough for {held[-1]:,} connections" if held else "not enough for 1,000 connections"
    meaning = (
        f"Raised for every server and generator, it is {room}. The command widens it for this "
        "shell and what it starts."
    )
    command = "sudo prlimit --pid $$ --nofile=65536:65536"
    return Finding("note" if held else "bad", "open files", reading, meaning, command)


def listen_backlog(machine: Machine) -> Finding | None:
    name = "net.core.somaxconn"
    if (size := machine.sysctl_number(name)) is None:
        return None
    return _queue(name, size, "A server's listen backlog is cut to this, whatever it asks for.")


def syn_backlog(machine: Machine) -> Finding | None:
    name = "net.ipv4.tcp_max_syn_backlog"
    if (size := machine.sysctl_number(name)) is None:
        return None
    return _queue(name, size, "So many connections may be half open on a listening socket.")


def _queue(name: str, size: int, what: str) -> Finding:
    if size >= CONNECTION_LEVELS[0]:
        meaning = f"{what} Enough for {CONNECTION_LEVELS[0]:,} connections that come at once."
        return Finding("ok", name, str(size), meaning)
    meaning = f"{what} Connections that come at once beyond that are dropped and tried again late."
    return Finding("warn", name, str(size), meaning, f"sudo sysctl -w {name}=8192")


def client_ports(machine: Machine) -> Finding | None:
    name = "net.ipv4.ip_local_port_range"
    bounds = (machine.sysctl(name) or "").split()
    if len(bounds) != 2:
        return None
    low, high = map(int, bounds)
    ports = high - low + 1
    reading = f"{low} to {high}: {ports:,} ports"
    # The kernel tries every other port first, and searches long once those are taken.
    if ports // 2 >= CONNECTION_LEVELS[-1]:
        meaning = f"One address is enough for {CONNECTION_LEVELS[-1]:,} connections."
        return Finding("ok", name, reading, meaning)
    meaning = (
        f"wrk and ab connect from one address, and slow down beyond {ports // 2:,} connections. "
        "deadheat's engine takes more addresses. (Servers get the ports below 12000.)"
    )
    return Finding("note", name, reading, meaning, f'sudo sysctl -w {name}="12000 65535"')


def time_wait(machine: Machine) -> Finding | None:
    name = "net.ipv4.tcp_tw_reuse"
    value = machine.sysctl_number(name)
    bounds = (machine.sysctl("net.ipv4.ip_local_port_range") or "").split()
    if value is None or len(bounds) != 2:
        return None
    if value == 1:
        return Finding("ok", name, "1", "Closed connections free their ports within a second.")
    if value == 2:
        meaning = "Closed connections free their ports within a second, those to other hosts not."
        return Finding("ok", name, "2", meaning)
    rate_per_s = (int(bounds[1]) - int(bounds[0]) + 1) / TIME_WAIT_S
    meaning = (
        f"A closed connection keeps its port for {TIME_WAIT_S} s: with a connection per request, "
        f"no more than {rate_per_s:.0f} requests/s last."
    )
    return Finding("warn", name, str(value), meaning, f"sudo sysctl -w {name}=1")


def io_uring(machine: Machine) -> Finding | None:
    name = "kernel.io_uring_disabled"
    value = machine.sysctl_number(name)
    if value is None:
        return None
    if value == 0:
        meaning = "The kernel allows it (a container's system call filter may still not)."
        return Finding("ok", "io_uring", "allowed", meaning)
    meaning = "Servers that want it fall back, and the load engine uses epoll."
    return Finding("note", "io_uring", f"{name} = {value}", meaning, f"sudo sysctl -w {name}=0")
