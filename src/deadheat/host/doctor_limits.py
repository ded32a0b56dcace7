"""Checks of the kernel limits of a machine, one function per check. See `doctor`."""

from deadheat.host.machine import Finding, Machine

CONNECTION_LEVELS = (1_000, 10_000, 20_000)
DESCRIPTORS_RESERVED = 64  # of a process, not for connections
TIME_WAIT_S = 60  # TCP_TIMEWAIT_LEN, fixed in the kernel


def open_files(machine: Machine) -> Finding:
    hard = machine.fingerprint.open_files_hard
    reading = f"{machine.fingerprint.open_files_soft} (can be raised to {hard})"
    levels = [level for level in CONNECTION_LEVELS if hard >= level + DESCRIPTORS_RESERVED]
    if levels == list(CONNECTION_LEVELS):
        return Finding("ok", "open files", reading, f"Enough for {levels[-1]:,} connections.")
    room = f"enough for {levels[-1]:,}" if levels else "not enough for 1,000"
    meaning = (
        f"For servers and load generators deadheat raises it to {hard:,}, {room} connections. "
        "The command raises it for this shell and its child processes."
    )
    command = "sudo prlimit --pid $$ --nofile=65536:65536"
    return Finding("note" if levels else "bad", "open files", reading, meaning, command)


def listen_backlog(machine: Machine) -> Finding | None:
    name = "net.core.somaxconn"
    if (size := machine.sysctl_number(name)) is None:
        return None
    return _queue(name, size, "The upper limit of a server's listen backlog.")


def syn_backlog(machine: Machine) -> Finding | None:
    name = "net.ipv4.tcp_max_syn_backlog"
    if (size := machine.sysctl_number(name)) is None:
        return None
    return _queue(name, size, "The limit of half-open connections of a listening socket.")


def _queue(name: str, size: int, limit: str) -> Finding:
    if size >= CONNECTION_LEVELS[0]:
        meaning = f"{limit} Enough for {CONNECTION_LEVELS[0]:,} connections that arrive together."
        return Finding("ok", name, str(size), meaning)
    meaning = f"{limit} If more connections arrive together, some are dropped and retry late."
    return Finding("warn", name, str(size), meaning, f"sudo sysctl -w {name}=8192")


def client_ports(machine: Machine) -> Finding | None:
    name = "net.ipv4.ip_local_port_range"
    bounds = (machine.sysctl(name) or "").split()
    if len(bounds) != 2:
        return None
    low, high = map(int, bounds)
    ports = high - low + 1
    reading = f"{low} to {high}: {ports:,} ports"
    # The kernel prefers every second port, and its search is slow once those are taken.
    if ports // 2 >= CONNECTION_LEVELS[-1]:
        meaning = f"One address is enough for {CONNECTION_LEVELS[-1]:,} connections."
        return Finding("ok", name, reading, meaning)
    meaning = (
        f"wrk and ab connect from one address and slow down beyond {ports // 2:,} connections. The "
        "load engine uses more addresses. (Servers get the ports below 12000.)"
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
        meaning = "Closed connections to this host free their ports within a second, others do not."
        return Finding("ok", name, "2", meaning)
    rate_per_s = (int(bounds[1]) - int(bounds[0]) + 1) / TIME_WAIT_S
    meaning = (
        f"A closed connection keeps its port for {TIME_WAIT_S} s. With one connection per "
        f"request, at most {rate_per_s:,.0f} requests/s are possible in the long run."
    )
    return Finding("warn", name, str(value), meaning, f"sudo sysctl -w {name}=1")


def io_uring(machine: Machine) -> Finding | None:
    name = "kernel.io_uring_disabled"
    value = machine.sysctl_number(name)
    if value is None:
        return None
    if value == 0:
        meaning = "The kernel allows it. The system call filter of a container may still forbid it."
        return Finding("ok", "io_uring", "allowed", meaning)
    meaning = "Servers that prefer it use something else, and the load engine uses epoll."
    return Finding("note", "io_uring", f"{name} = {value}", meaning, f"sudo sysctl -w {name}=0")
