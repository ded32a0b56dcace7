"""The error that a user sees: symptom, cause and hint."""


class DeadheatError(Exception):
    """An error that the user can act on.

    `str(error)` names the file, line or flag and what was expected. `hint` says what the user can
    do; it is shown on its own line.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Unmeasurable(DeadheatError):
    """Nothing valid can be measured now: the machine is busy, or every trial failed its checks.

    `run_id` is the run that keeps what was measured, if one had begun.
    """

    run_id: str | None = None
