"""Which fault can hit which part of a run, and when."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from bench.faulted.modes import ALL, RACE_VERDICTS

MOMENTS = ("build", "start", "warm-up", "slice", "store", "stop", "any")  # any: after a trial
STARTED = MOMENTS[1:-1]
NAMED = MOMENTS[:-1]
ENDING = ("KILL", "TERM", "INT", "HUP")
FOR_GOOD = "STOP for good"
CONTAINMENTS = ("cgroup-v2", "pid-namespace", "subreaper")
LONG_STOP = "STOP 20 s"
PAGES = ("serve", "board")  # kinds without a race
TRANSPORTS = ALL  # kinds whose server is at fault
ATTACKS = ("odd requests", "slow", "few files")  # on `serve`
KINDS = (  # and signal
    *("regress", "disk", "clock", "files", "memory", "oom"),
    *("twin", "escape", "pty", "limit", "user", "tls", "http2"),
    *PAGES,
    *TRANSPORTS,
)
DESCRIPTORS = 64  # of every process of the kind `limit`
LEFT_MIB_MAX = 16  # of address space that the kind `memory` leaves the command
OOM_BYTES = 64 << 10  # that the kind `oom` leaves it until the kernel kills it
SPAN_S = {  # about how long a moment lasts: a fault comes after a random part of it
    "build": 0.35,
    "start": 0.25,
    "warm-up": 0.4,
    "slice": 0.06,
    "store": 0.002,
    "stop": 0.05,
    "any": 5.0,
}
OCCURRENCES = {"build": 2, "start": 4, "warm-up": 4, "slice": 12, "store": 4, "stop": 4, "any": 1}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is done to which part of a run, and in which moment."""

    target: str
    signal: str
    moment: str

    @property
    def kind(self) -> str:
        """The sandbox that it needs."""
        word = self.target.split()[0]
        return word if word in KINDS else "signal"

    @property
    def part(self) -> str:
        """The part that gets the signal: cli, or one of `processes.PARTS`."""
        return self.target.split()[-1]


def faults() -> list[Fault]:
    """Every fault of the matrix."""
    stopped = ("STOP", FOR_GOOD)
    listed = [Fault("cli", s, m) for s in (*ENDING, "STOP") for m in NAMED]
    listed += [Fault("agent", s, m) for s in (*ENDING, *stopped) for m in NAMED]
    for target in ("engine", "master", "worker", "control"):
        listed += [Fault(target, s, m) for s in (*ENDING, *stopped) for m in STARTED]
    moments = ("build", "slice", "store")
    for part in ("cli", "agent"):
        listed += [Fault(f"regress {part}", s, m) for s in ("KILL", "TERM", "INT") for m in moments]
    listed += [Fault(part, LONG_STOP, "slice") for part in ("cli", "agent", "engine", "master")]
    for part in ("master", "worker", "engine"):
        listed += [Fault(f"escape {part}", "leaves", m) for m in STARTED]
    listed += [Fault("files", "none left", m) for m in STARTED]
    listed += [Fault("memory", "ulimit -v", m) for m in STARTED]
    listed += [Fault("oom", "cgroup", m) for m in ("start", "slice", "store")]
    listed += [Fault("twin", "run", m) for m in ("build", "start", "slice", "store")]
    listed += [Fault("disk", "full", m) for m in NAMED]
    listed += [Fault("clock", s, m) for s in ("+1 h", "-1 h") for m in ("start", "slice", "store")]
    listed += [Fault(part, "KILL", "any") for part in ("cli", "agent", "engine", "master")]
    listed += [Fault("pty cli", "closed", m) for m in ("start", "slice", "store", "any")]
    for kind in ("limit", "user", "tls", "http2"):
        for part in ("cli", "agent", "engine"):
            listed += [Fault(f"{kind} {part}", "KILL", m) for m in ("start", "slice", "store")]
    listed += [Fault("serve", s, "any") for s in (*ENDING, *ATTACKS)]
    listed += [Fault("board", s, "any") for s in ENDING]
    for mode, verdict in RACE_VERDICTS.items():
        listed += [Fault(transport, mode, "any") for transport in verdict.transports]
    return listed


def fewest_first(counts: Mapping[Fault, int], order: random.Random) -> list[Fault]:
    """The matrix in random order, those with the fewest cases so far first."""
    shuffled = faults()
    order.shuffle(shuffled)
    return sorted(shuffled, key=lambda fault: counts.get(fault, 0))
