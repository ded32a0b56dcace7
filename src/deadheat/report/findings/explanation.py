"""Why one contender needs more CPU time than another: the split of each gap, and known mistakes.

The unit is the instance: the mean of its trials counts once. User and system time of a trial add up
to its CPU time, so the parts of a gap add up to it.
"""

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import itemgetter
from typing import Self

from deadheat import numbers
from deadheat.campaign.failures import OF_THE_MACHINE
from deadheat.foreign_text import one_line
from deadheat.report.model.series import SHAPE, Finite
from deadheat.report.model.view import Cell, ContenderView, RunView
from deadheat.stats.ranking.change import MeanDifference, learned_difference, learned_means
from deadheat.store.json_columns import Explained, PerRequest
from deadheat.workload import over, parts_of

WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6")
ACCEPTS = ("accept", "accept4")
CALLS: Mapping[str, tuple[str, ...]] = {
    "reads": ("read", "readv", "pread64", "recvfrom", "recvmsg", "recvmmsg"),
    "writes": ("write", "writev", "pwrite64", "sendto", "sendmsg", "sendmmsg", "sendfile"),
    "waits": (*WAITS, "io_uring_enter"),
    "futexes": ("futex", "futex_waitv", "futex_wait", "futex_wake"),
    "timers": ("nanosleep", "clock_nanosleep", "timerfd_settime", "timer_settime", "setitimer"),
}
CALLS_SHOWN, THREADS_SHOWN, FRAMES_SHOWN, CALLS_LEAST = 12, 6, 5, 0.005
ALPHA = 0.05  # of each interval by itself
DEBUG = re.compile(
    r"\[GIN-debug\]|debug mode: on|Debugger is active|development server|--reload\b|--debug\b"
    r"|-agentlib:jdwp|-Xint\b|FLASK_DEBUG=1|RAILS_ENV=development|RACK_ENV=development",
    re.I,
)
LOGGED = re.compile(r"\b(?:GET|POST|PUT|DELETE|HEAD) /\S* HTTP/1\.[01]|\b(?:GET|POST) /\S* \d{3}\b")
LOGGED_LINES = 5  # in the last 2,000 bytes of a log
PIECES_MIN, HEADER_WRITES_MIN = 1.5, 5.0  # packets and writes of a response
DELAYED_ACK_US = (36_000, 60_000)  # Linux delays an acknowledgment by 40 ms
IDLE_SHARE_MAX = 0.5
DISTURBED = {*OF_THE_MACHINE, "client_wait"}  # gates
ONE_BY_ONE_MIN = 0.9  # waits for each accept
COLLECTOR = re.compile(  # a thread, which comes first in a stack, or a function
    r"^(?:GC Thread|G1 |ZWorker|Shenandoah)|\bgcBgMarkWorker|\bgcAssistAlloc|\bbgsweep\b"
    r"|\bHeap::[Cc]ollect|\bMinorGCJob\b|\bConcurrentMarking\b|\bgc_collect_main\b"
    r"|(?:garbage_collect|collect_garbage)(?:;|$)"
)
COLLECTOR_SHARE_MIN, SAMPLES_MIN = 0.2, 100  # of the samples


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """Microseconds of CPU time per request; the interval holds at 95 % by itself."""

    __pydantic_config__ = SHAPE

    value: Finite
    low: Finite | None
    """Null if the interval is unknown."""
    high: Finite | None

    @classmethod
    def of(cls, known: MeanDifference) -> Self:
        ends = (known.low, known.high) if math.isfinite(known.high) else (None, None)
        return cls(known.value, *ends)

    @property
    def may_be_zero(self) -> bool:
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high

    def interval(self, less: bool = False) -> str:
        """` [1.2 to 3.4]`; of a part that is less, how much less."""
        if self.low is None or self.high is None:
            return " [unknown]"
        low, high = (-self.high, -self.low) if less else (self.low, self.high)
        return f" [{numbers.signless(low)} to {numbers.signless(high)}]"

    def part(self, where: str) -> str:
        less = self.value < 0
        text = f"{abs(self.value):.1f}{self.interval(less)}"
        return f"{text}{' less' if less else ''} {where}"


@dataclass(frozen=True, slots=True)
class Gap:
    """How much more CPU time one contender needs than another; the parts add up."""

    __pydantic_config__ = SHAPE

    more: str
    less: str
    cpu: TimeInterval
    user: TimeInterval
    """In its own code."""
    system: TimeInterval
    """In the kernel."""
    text: str

    @classmethod
    def between(
        cls, more: str, less: str, user: TimeInterval, system: TimeInterval, cpu: TimeInterval
    ) -> Self:
        """With one sentence, whose numbers add up."""
        total = round(user.value, 1) + round(system.value, 1)
        parts = [user.part("in its own code"), system.part("in the kernel")]
        equal = [
            f"; {what} may be equal"
            for each, what in ((user, "their own code"), (system, "the kernel's part"))
            if each.may_be_zero
        ]
        needs = f"{one_line(more)} needs {total:.1f} µs{cpu.interval()} more CPU time per request"
        text = f"{needs} than {one_line(less)}: {' and '.join(parts)}{''.join(equal)}"
        return cls(more, less, cpu, user, system, text)


@dataclass(frozen=True, slots=True)
class Sign:
    """What points to a known mistake of a contender, and its fix."""

    __pydantic_config__ = SHAPE

    contender: str
    code: str
    text: str
    fix: str


def contenders_of(view: RunView) -> list[ContenderView]:
    """The contenders; of a run over several transports, one for each, which its name says."""
    if len(view.by_workload) == 1:
        return [*view.contenders]
    return [
        replace(each, name=over(each.name, parts_of(part.workload)[1]))
        for part in view.by_workload
        for each in part.contenders
    ]


def explained(view: RunView) -> tuple[ContenderView, ...]:
    """The contenders that were explained, those with the least CPU time first."""
    some = [each for each in contenders_of(view) if each.explained is not None]
    return tuple(sorted(some, key=lambda each: sum(time_of(each) or (0.0, 0.0))))


def cell_of(contender: ContenderView) -> Cell:
    """What the race measured at the most connections; empty if nothing."""
    return contender.cells[max(contender.cells)] if contender.cells else Cell(connections=0)


def gaps(view: RunView) -> tuple[Gap, ...]:
    """Every pair of explained contenders; neighbors in CPU time come first.

    Over several transports, pairs of one server, and then those over one transport.
    """
    parts = {each.name: own for each in explained(view) if (own := by_instance(each))}
    learned = [
        learned_means({name: [part(times) for times in own] for name, own in parts.items()})
        for part in (itemgetter(0), itemgetter(1), sum)
    ]
    numbered = sorted(
        combinations(enumerate(parts), 2), key=lambda pair: (pair[1][0] - pair[0][0], pair)
    )
    pairs = [(less, more) for (_, less), (_, more) in numbered]
    if len(view.by_workload) > 1:
        split = {name: parts_of(name) for name in parts}
        pairs = [
            pair for at in (0, 1) for pair in pairs if split[pair[0]][at] == split[pair[1]][at]
        ]
    return tuple(
        Gap.between(
            more,
            less,
            *(
                TimeInterval.of(learned_difference(means[less], means[more], ALPHA))
                for means in learned
            ),
        )
        for less, more in pairs
    )


def by_instance(contender: ContenderView) -> list[tuple[float, float]]:
    """User and system time of a request in microseconds, the mean of each instance.

    A trial counts too if only the machine or the client was disturbed: CPU time hardly shows that.
    """
    groups: defaultdict[int | None, list[tuple[float, float]]] = defaultdict(list)
    trials = [trial for trial in cell_of(contender).trials if trial.measured]
    sound = [t for t in trials if all(gate.code in DISTURBED for gate in t.gates_failed)]
    for trial in sound or trials:
        parts = trial.per_request
        if parts is not None and parts.user_us is not None and parts.system_us is not None:
            groups[trial.instance_id].append((parts.user_us, parts.system_us))
    return list(map(_means, groups.values()))


def _means(times: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return statistics.fmean(user for user, _ in times), statistics.fmean(s for _, s in times)


def time_of(contender: ContenderView) -> tuple[float, float] | None:
    """User and system time of a request in microseconds, as the gaps compare them."""
    means = by_instance(contender)
    return _means(means) if means else None


def _counted(contender: ContenderView) -> Explained:
    """What was counted; nothing of a contender that was not explained."""
    return contender.explained or Explained()


def calls_of(contender: ContenderView, kind: str) -> float | None:
    """System calls per request of a kind of `CALLS`, or all of them; None if not counted."""
    calls = _counted(contender).calls
    if calls is None:
        return None
    return sum(n for name, n in calls.items() if kind == "all" or name in CALLS[kind])


def signs(view: RunView) -> tuple[Sign, ...]:
    """Signs of known mistakes, in the order of the contenders."""
    return tuple(
        Sign(contender.name, code, text, fix)
        for contender in explained(view)
        for code, text, fix in _signs(view, contender)
    )


def _signs(view: RunView, contender: ContenderView) -> Iterator[tuple[str, str, str]]:
    cell, counts = cell_of(contender), _counted(contender)
    parts = cell.per_request or PerRequest()
    started = [
        text for start in contender.starts for text in (*start.command, start.log_tail or "")
    ]
    if match := next((m for text in started if (m := DEBUG.search(text))), None):
        yield "debug", f"it runs in debug mode ({match[0]})", "start it as in production"
    if any(len(LOGGED.findall(text)) >= LOGGED_LINES for text in started):
        yield "access_log", "it writes a line for each request", "switch the access log off"
    if any(start.behavior and start.behavior.keep_alive is False for start in contender.starts):
        yield (
            "no_keep_alive",
            "it closes the connection after each response",
            "let it keep connections alive, or use a worker that can",
        )
    writes, packets = calls_of(contender, "writes"), parts.data_packets_in
    if writes is not None and writes >= HEADER_WRITES_MIN:
        text = f"it writes {writes:.1f} times for each response, as if once for each header"
        yield "header_writes", text, "collect head and body in a buffer, and write them once"
    elif packets is not None and packets >= PIECES_MIN and (parts.bytes_in or 0) < 16_000:
        text = f"its responses leave in {packets:.1f} packets"
        yield "several_writes", text, "write head and body with one call"
    p50_us, used = cell.service["p50"], cell.server_cpus_used
    low_us, high_us = DELAYED_ACK_US
    idle = used is not None and used < IDLE_SHARE_MAX * max(view.server_cpus, 1)
    if p50_us is not None and low_us <= p50_us <= high_us and idle and (packets or 0) >= PIECES_MIN:
        yield (
            "delayed_ack",
            f"half of its requests take {numbers.milliseconds(p50_us)} ms while its CPUs idle: it "
            "waits for a delayed acknowledgment before its second packet",
            "set TCP_NODELAY, or write the response with one call",
        )
    if counts.backlog is not None and counts.backlog < cell.connections:
        yield (
            "short_backlog",
            f"its listen queue holds {counts.backlog:,} of {cell.connections:,} connections",
            f"give listen() a backlog of {max(1024, cell.connections):,}, and the kernel: "
            "sudo sysctl -w net.core.somaxconn=4096",
        )
    calls = counts.calls or {}
    accepts, waits = (sum(calls.get(name, 0.0) for name in names) for names in (ACCEPTS, WAITS))
    if accepts >= 0.5 and waits >= ONE_BY_ONE_MIN * accepts:
        yield (
            "accept_one",
            f"it waits {waits / accepts:.1f} times for each connection that it accepts",
            "accept until EAGAIN after each wait, or keep connections alive",
        )
    share = collector_share(contender)
    if share is not None and share >= COLLECTOR_SHARE_MIN:
        yield (
            "garbage_collector",
            f"its garbage collector takes {numbers.percent(share, 0)} of its CPU time",
            "give its heap more memory (GOGC, -Xmx, --max-semi-space-size), or allocate less for "
            "each request",
        )
    if contender.ended:
        days = ", ".join(f"{one_line(line)} until {day}" for line, day in contender.ended.items())
        text = f"its release line was past the end of support when it ran ({days})"
        yield "end_of_life", text, "move to a release line that its project supports"


def collector_share(contender: ContenderView) -> float | None:
    """The share of perf's samples in a garbage collector; None with too few samples."""
    total = sum(contender.stacks.values())
    if total < SAMPLES_MIN:
        return None
    inside = sum(n for stack, n in contender.stacks.items() if COLLECTOR.search(stack))
    return inside / total


def calls_text(contender: ContenderView) -> str | None:
    """`read 1.00, write 1.00`: the most frequent system calls per request."""
    calls = _counted(contender).calls or {}
    shown = [(name, n) for name, n in calls.items() if n >= CALLS_LEAST]
    texts = [f"{name} {n:.2f}" for name, n in shown[:CALLS_SHOWN]]
    more = f", and {len(shown) - CALLS_SHOWN} more" if len(shown) > CALLS_SHOWN else ""
    return ", ".join(texts) + more if texts else None


def threads_text(contender: ContenderView) -> str | None:
    """`2 node 31.0 µs`: the threads that ran, and the time of a request that they ran for."""
    texts = [
        f"{one_line(each.name)}{f' ({each.threads:,})' if each.threads > 1 else ''} "
        f"{numbers.microseconds(each.us_per_request)} µs"
        for each in _counted(contender).threads[:THREADS_SHOWN]
    ]
    return ", ".join(texts) or None


def frames_text(contender: ContenderView) -> str | None:
    """The functions on top of most stacks, and the share that perf could not name."""
    total = sum(contender.stacks.values())
    if not total:
        return None
    tops: Counter[str] = Counter()
    for stack, samples in contender.stacks.items():
        tops[stack.rpartition(";")[2]] += samples
    unknown = tops.pop("[unknown]", 0)
    shown = tops.most_common(FRAMES_SHOWN)
    texts = [f"{one_line(frame, 60)} {numbers.percent(n / total)}" for frame, n in shown]
    return ", ".join([*texts, f"without a name {numbers.percent(unknown / total)}"])


def slowed_text(view: RunView) -> str | None:
    """That strace slows servers down, with the share of their rates that is left."""
    shares = [
        counts.traced_rate_per_s / counts.rate_per_s
        for counts in map(_counted, explained(view))
        if counts.rate_per_s and counts.traced_rate_per_s
    ]
    if not shares:
        return None
    low, high = (numbers.percent(end, 0) for end in (min(shares), max(shares)))
    left = low if low == high else f"{low} to {high}"
    return (
        f"strace slows servers: they answered {left} of their rate meanwhile, so a server that "
        "finds more work at each wait has fewer waits here than without strace"
    )


def traced_text(view: RunView) -> str | None:
    """Where the allocated bytes come from; None if none were counted."""
    if all(_counted(each).allocated_bytes is None for each in explained(view)):
        return None
    return (
        "allocated bytes are of the heap of Go, the JVM and Node.js, from the traces of their "
        "garbage collectors in a load of their own: no time comes from it"
    )


def left_out(view: RunView) -> tuple[str, ...]:
    """What was not counted, once for all contenders that lack it alike."""
    by_text: defaultdict[str, list[str]] = defaultdict(list)
    for contender in explained(view):
        for text in _counted(contender).left_out:
            by_text[text].append(contender.name)
    everyone = len(explained(view))
    return tuple(
        text if len(names) == everyone else f"{numbers.listing(names)}: {text}"
        for text, names in by_text.items()
    )
