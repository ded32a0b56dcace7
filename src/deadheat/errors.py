"""The error that a user sees: symptom, cause and hint."""

from collections.abc import Sequence


class DeadheatError(Exception):
    """An error that the user can act on.

    `str(error)` names the file, line or flag and what was expected. `hint` says what the user can
    do; it is shown on its own line.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageFault(DeadheatError):
    """The command line names something that does not exist, or has a value that is not possible."""


def joined(faults: Sequence[DeadheatError], hint: str | None = None) -> DeadheatError:
    """The only fault, or one with the messages and the hints of all; `hint` comes last."""
    first, *others = by_message = {str(fault): fault for fault in faults}
    if not others:
        return by_message[first]
    hints = {fault.hint for fault in faults}
    if hint is None and len(hints) == 1:
        return UsageFault("\n".join(by_message), *hints)
    lines = [
        f"{message}\n  hint: {fault.hint}" if fault.hint else message
        for message, fault in by_message.items()
    ]
    return UsageFault("\n".join(lines), hint)


class LinkLost(Exception):
    """The connection to another host ended, which is the fault of no server and of no trial.

    So it is no `DeadheatError`: code that counts an error as the fault of a server lets it pass.
    `run_id` is the run that keeps what was measured, if one had begun.
    """

    run_id: str | None = None

    def __init__(self, target: str, said: str = "") -> None:
        super().__init__(f"{target}: the connection was lost")
        self.target = target
        self.said = f" (ssh: {said})" if said else ""

    @property
    def hint(self) -> str:
        """What the user can do."""
        return f"when it is back, run the command again{self.said}"


class Unmeasurable(DeadheatError):
    """Nothing valid can be measured now: the machine is busy, or every trial failed its checks.

    `run_id` is the run that keeps what was measured, if one had begun.
    """

    run_id: str | None = None


class StoreError(DeadheatError):
    """The store cannot be opened, read or written."""


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or "no reason"."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
