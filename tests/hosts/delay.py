"""A delay on the path between the hosts of the bed: netem, or our own line through TUN."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from tests.hosts.bed import LOAD, SERVER, Bed, run

LINE = Path(__file__).with_name("delay_line.py")
SIDES = (("s", SERVER, LOAD), ("l", LOAD, SERVER))


class Delay(Protocol):
    def set(self, one_way_s: float) -> None:
        """Delay packets of both directions; each round trip takes twice as long."""


@contextmanager
def delayed(bed: Bed, one_way_s: float) -> Iterator[Delay]:
    """A delay until the context ends; connections that are open stay open."""
    with (_netem if _has_netem(bed) else _line)(bed) as delay:
        delay.set(one_way_s)
        yield delay


def refusal() -> str | None:
    """Why this machine cannot delay packets; None if it can, by netem or by TUN."""
    return None if os.access("/dev/net/tun", os.W_OK) else "a delay line needs /dev/net/tun"


def _has_netem(bed: Bed) -> bool:
    command = ["tc", "qdisc", "add", "dev", "cable", "root", "netem", "delay", "0ms"]
    try:
        added = subprocess.run([*bed.within("s"), *command], capture_output=True)
    except OSError:
        return False
    if added.returncode == 0:
        run(*bed.within("s"), "tc", "qdisc", "delete", "dev", "cable", "root")
    return added.returncode == 0


@dataclass(frozen=True)
class _Netem:
    bed: Bed

    def set(self, one_way_s: float) -> None:
        delay = f"{one_way_s * 1000:g}ms"
        rule = ("qdisc", "replace", "dev", "cable", "root", "netem", "delay", delay)
        for side, *_ in SIDES:
            run(*self.bed.within(side), "tc", *rule)


@contextmanager
def _netem(bed: Bed) -> Iterator[Delay]:
    try:
        yield _Netem(bed)
    finally:
        for side, *_ in SIDES:
            with contextlib.suppress(subprocess.CalledProcessError):
                run(*bed.within(side), "tc", "qdisc", "delete", "dev", "cable", "root")


@dataclass(frozen=True)
class _Line:
    words: IO[str]

    def set(self, one_way_s: float) -> None:
        self.words.write(f"{one_way_s}\n")
        self.words.flush()


@contextmanager
def _line(bed: Bed) -> Iterator[Delay]:
    """Routes to the two addresses lead through the line; they end with its interfaces."""
    namespaces = [f"{bed.name}-{side}" for side, *_ in SIDES]
    with subprocess.Popen(
        [sys.executable, str(LINE), *namespaces],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as line:
        assert line.stdin is not None
        assert line.stdout is not None
        try:
            assert line.stdout.readline() == "ready\n"
            for side, own, other in SIDES:
                ip = ("ip", "-n", f"{bed.name}-{side}")
                run(*ip, "link", "set", "delay", "up")
                run(*ip, "route", "add", f"{other}/32", "dev", "delay", "src", own)
            yield _Line(line.stdin)
        finally:
            line.stdin.close()
            line.wait(10)
