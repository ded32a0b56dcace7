"""The exit codes of every command: `docs/scripts.md` has the same table."""

from enum import IntEnum

from deadheat.output import print_error


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1  # an error with a hint, or a check that failed
    USAGE = 2
    SLOWER = 3  # of regress
    NO_ANSWER = 4  # it ran, and the data do not answer the question
    UNMEASURABLE = 5  # the machine is busy, or every trial failed its checks
    INTERRUPTED = 130  # as a shell reports SIGINT
    OUTPUT_CLOSED = 141  # as a shell reports SIGPIPE


def explain(why: str, hint: str) -> None:
    """Say on standard error why a command that printed its results does not exit with 0."""
    print_error(why, hint)
