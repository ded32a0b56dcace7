"""Errors that the agent reports, and the type of its messages."""

from __future__ import annotations

from typing import Any, Dict  # noqa: UP035 (for 3.8)

Json = Dict[str, Any]  # noqa: UP006


class Fault(Exception):
    """An error that the agent reports to the harness: message and hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_json(self) -> Json:
        return {"message": self.message, "hint": self.hint}
