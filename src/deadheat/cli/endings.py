"""How a command ends: its exit code, the signals SIGTERM and SIGHUP, which act as Ctrl-C does, and
the lack of memory or descriptors.

`docs/scripts.md` has the exit codes too.
"""

import atexit
import errno
import os
import signal
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType

from deadheat.output import print_error

ENDING = (signal.SIGTERM, signal.SIGHUP)
NO_MEMORY = (
    "deadheat has no memory left",
    "raise `ulimit -v` or end other programs; `deadheat resume` then continues a race, and "
    "`deadheat doctor` shows the free memory",
)
NO_DESCRIPTORS = (
    "deadheat has no file descriptor left",
    "raise `ulimit -n`; `deadheat resume` then continues a race",
)
SHORTAGES = {errno.ENOMEM: NO_MEMORY, errno.EMFILE: NO_DESCRIPTORS, errno.ENFILE: NO_DESCRIPTORS}
RESERVE = [bytes(1 << 20)]  # given up to have memory for the last words


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1  # an error with a hint, or a check that failed
    USAGE = 2
    SLOWER = 3  # of regress
    NO_ANSWER = 4  # it ran, and the data do not answer the question
    UNMEASURABLE = 5  # the machine is busy, or every trial failed its checks
    INTERRUPTED = 130  # as a shell reports SIGINT
    OUTPUT_CLOSED = 141  # as a shell reports SIGPIPE


def shortage(error: BaseException) -> tuple[str, str] | None:
    """What deadheat lacks, and what the user can do, if that was the error."""
    if isinstance(error, OSError):
        return SHORTAGES.get(error.errno or 0)
    no_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    no_room = isinstance(error, ImportError) and "failed to map segment" in str(error)  # dlopen(3)
    if not (no_thread or no_room or isinstance(error, MemoryError)):
        return None
    RESERVE.clear()
    return NO_MEMORY


def end_at_lost_threads() -> None:
    """End the command immediately if one of its threads runs out of memory.

    Code that waits for that thread, or for its start (CPython sets `_started` in the new thread),
    would wait for ever. The agent ends all processes when the command is gone.
    """
    unraisable, uncaught = sys.unraisablehook, threading.excepthook

    def end_if_short(error: BaseException | None) -> None:
        if error is not None and (words := shortage(error)) is not None:
            print_error(*words)
            os._exit(ExitCode.FAILED)

    def at_start(event: "sys.UnraisableHookArgs") -> None:
        if isinstance(getattr(event.object, "__self__", None), threading.Thread):
            end_if_short(event.exc_value)
        unraisable(event)

    def in_thread(event: threading.ExceptHookArgs) -> None:
        end_if_short(event.exc_value)
        uncaught(event)

    sys.unraisablehook, threading.excepthook = at_start, in_thread


@contextmanager
def ending_as_interrupts() -> Iterator[None]:
    """Raise `KeyboardInterrupt` in the block at the first SIGTERM or SIGHUP; ignore later ones.

    A terminal that closes sends SIGHUP more than once, and the second must not end the cleanup. A
    signal that was ignored, as by nohup, stays ignored. After the block the exit code is known, and
    no signal changes it, SIGINT neither.
    """
    installed = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in installed:
            signal.signal(each, signal.SIG_IGN)
        if number == signal.SIGHUP:
            _leave_lost_terminal()
        raise KeyboardInterrupt

    for number in installed:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in (signal.SIGINT, *installed):
            signal.signal(number, _pass)  # unlike SIG_IGN, no child inherits it
        atexit.register(_ignore)  # Python takes its handlers away while it ends


def _pass(number: int, frame: FrameType | None) -> None:
    """The process ends anyway."""


def _ignore() -> None:
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)


def _leave_lost_terminal() -> None:
    """Write to nowhere if the terminal is gone; an error would hide why the command ended."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            termios.tcgetattr(stream.fileno())
        except termios.error as error:
            if error.args[0] == errno.EIO:  # a file or a pipe gives ENOTTY
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
