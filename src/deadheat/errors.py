"""The one error a user meets: what went wrong, and the way out."""


class DeadheatError(Exception):
    """A fault a user can act on.

    `str(error)` names the file, line or flag and what was expected; `hint` is the way out,
    shown on a line of its own.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
