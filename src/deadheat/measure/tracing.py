"""What slows a server down while it is counted: system calls by strace, stacks by perf.

Both attach to an instance that runs and is warm already, in loads of their own. No rate and no CPU
time comes from them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

from deadheat.errors import DeadheatError
from deadheat.host import Completed, Host, HostError, ProcessSpec
from deadheat.load import LoadResult
from deadheat.load.engine import SliceRequest
from deadheat.measure.contender import Contender
from deadheat.measure.lifecycle import Instance
from deadheat.measure.load_process import LoadProcess, load_slice
from deadheat.measure.world import World

STRACE = "apt-get install strace"
PERF = "apt-get install linux-perf (Debian) or linux-tools-generic (Ubuntu)"
TRACED_S, SAMPLED_S = 1.5, 1.5  # of load
ATTACH_S, DETACH_S, READ_S, ASKED_S = 15.0, 15.0, 60.0, 10.0
POLL_S = 0.05
PERF_START_S = 0.5  # it does not say when it has begun
SAMPLES_PER_S = 499  # of each CPU
LOG_BYTES_MAX = 1 << 16
KERNEL = 1 << 63  # addresses from here on are the kernel's
OF_KERNEL = "_[k]"  # as inferno marks a frame of the kernel
UNKNOWN = "[unknown]"
# What makes a runtime say where its compiled code is, as perf expects it.
PERF_MAPS = {
    "NODE_OPTIONS": "--perf-basic-prof",
    "PYTHONPERFSUPPORT": "1",
    "JAVA_TOOL_OPTIONS": "-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
    "-XX:+DumpPerfMapAtExit",
}


def require(host: Host, tool: str, what: str, install: str) -> None:
    """Raises `DeadheatError` if the tool is missing on the host."""
    try:
        host.run(ProcessSpec([tool, "--version"]), ASKED_S)
    except HostError as error:
        raise DeadheatError(f"{what} left out: {tool} is missing", install) from error


def traced_calls(
    world: World, instance: Instance, load: LoadProcess
) -> tuple[dict[str, float], LoadResult]:
    """System calls per request by name, and the load in which strace counted them.

    The instance runs, and its connections are open. Raises `DeadheatError`.
    """
    host = world.server_host
    require(host, "strace", "system calls are", STRACE)
    pids = _pids(host, instance)
    log_path = str(world.logs / f"strace-{instance.port}.log")
    command = ["strace", "-f", "-c", *chain(*(("-p", str(pid)) for pid in pids))]

    def attached(log: str) -> bool:
        return log.count(" attached") >= len(pids)

    with _beside(host, command, log_path, attached):
        result = load_slice(world, load, SliceRequest(TRACED_S, discard_s=0.0))
    requests = result.requests_sent_in_all or 0
    counts = read_summary(host.read_tail(log_path, LOG_BYTES_MAX))
    if not requests or not counts:
        raise DeadheatError("system calls are left out: no request was answered under strace")
    return {name: round(count / requests, 4) for name, count in counts.items()}, result


def read_summary(text: str) -> dict[str, int]:
    """System calls by name, the most first, in the table that `strace -c` writes."""
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) in (5, 6) and fields[3].isdigit() and fields[-1] != "total":
            counts[fields[-1]] += int(fields[3])
    return dict(counts.most_common())


def with_perf_maps(contender: Contender) -> Contender:
    """As it is started for perf: its runtime writes where its compiled code is."""
    added = {n: f"{contender.env.get(n, '')} {text}".strip() for n, text in PERF_MAPS.items()}
    return replace(contender, env={**contender.env, **added})


def record_stacks(
    world: World, instance: Instance, load: LoadProcess
) -> Callable[[], Counter[str]]:
    """Sample the stacks under load. The result reads them, once the instance has ended.

    The JVM writes its map at its end. Raises `DeadheatError`.
    """
    host = world.server_host
    require(host, "perf", "a flame graph is", PERF)
    pids = _pids(host, instance)
    data, log_path = (str(world.logs / f"perf-{instance.port}.{end}") for end in ("data", "log"))
    sampling = ["-e", "cpu-clock", "-F", str(SAMPLES_PER_S), "-g", "-o", data]
    command = ["perf", "record", *sampling, "-p", ",".join(map(str, pids))]
    begun_s = host.now_s()

    def sampled(_: str) -> bool:
        return host.now_s() - begun_s >= PERF_START_S

    with _beside(host, command, log_path, sampled):
        load_slice(world, load, SliceRequest(SAMPLED_S))

    def read() -> Counter[str]:
        script = ["perf", "script", "-i", data, "-F", "comm,ip,sym", "--max-stack", "127"]
        stacks = folded(_output(host.run(ProcessSpec(script), READ_S), "perf script"))
        host.run(ProcessSpec(["rm", "-f", data, *(f"/tmp/perf-{pid}.map" for pid in pids)]), READ_S)
        return stacks

    return read


def folded(script: str) -> Counter[str]:
    """Samples by stack, as `thread;outermost;...;innermost`, from the text of `perf script`.

    Frames in a row that perf cannot name are one.
    """
    stacks: Counter[str] = Counter()
    for sample in re.split(r"\n\s*\n", script):
        head, *lines = sample.strip("\n").splitlines() or [""]
        frames: list[str] = []
        for address, _, symbol in (line.strip().partition(" ") for line in lines):
            mark = OF_KERNEL if int(address, 16) >= KERNEL else ""
            frame = re.sub(r"[;\s]+", " ", symbol.strip() or UNKNOWN) + mark
            if frame != UNKNOWN or frames[-1:] != [UNKNOWN]:
                frames.append(frame)
        if frames:
            stacks[";".join([head.strip().replace(";", " "), *reversed(frames)])] += 1
    return stacks


def _pids(host: Host, instance: Instance) -> list[int]:
    return sorted(pid for pid, _ in host.members(instance.process))


def _output(done: Completed, what: str) -> str:
    if done.exit_code != 0:
        raise DeadheatError(f"{what} failed: {_last_line(done.stderr)}")
    return done.stdout


@contextmanager
def _beside(
    host: Host, command: Sequence[str], log_path: str, has_begun: Callable[[str], bool]
) -> Iterator[None]:
    """Run a tool that has begun by now, until it is interrupted. Raises `DeadheatError`."""
    process = host.start(ProcessSpec(command), log_path)
    try:
        end_s = host.now_s() + ATTACH_S
        while not has_begun(log := host.read_tail(log_path, LOG_BYTES_MAX)):
            if host.alive(process) is not None or host.now_s() > end_s:
                raise DeadheatError(
                    f"{command[0]} cannot attach to the server ({_last_line(log)}): run deadheat "
                    "as root, or allow it: sudo sysctl -w kernel.yama.ptrace_scope=0 "
                    "kernel.perf_event_paranoid=1",
                )
            host.sleep(POLL_S)
        yield
    finally:
        host.stop(process, "SIGINT", DETACH_S)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1][:200]
