"""Values of a foreign file: each is checked, and an error names its place."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line

NAME_MAX = 100
NUMBER_MAX = 1e15
MEASUREMENTS_MAX = 200_000
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([a-zµ%]*)\s*")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a file and where it is: `board.json: metrics[3].value`."""

    place: str
    content: Any

    def key(self, name: str) -> "Value":
        """A key of an object; its content is None if the object does not have it."""
        if not isinstance(self.content, dict):
            raise self.unlike("an object")
        return Value(f"{self.place}.{name}", self.content.get(name))

    def items(self) -> Iterator["Value"]:
        if not isinstance(self.content, list):
            raise self.unlike("a list")
        return (Value(f"{self.place}[{at}]", item) for at, item in enumerate(self.content))

    def entries(self) -> Iterator[tuple[str, "Value"]]:
        if not isinstance(self.content, dict):
            raise self.unlike("an object")
        return (
            (name_of(key), Value(f"{self.place}.{name_of(key)}", item))
            for key, item in self.content.items()
        )

    def name(self) -> str:
        text = self.content
        if not isinstance(text, str) or not text.strip():
            raise self.unlike("a name")
        return name_of(text)

    def name_if_any(self) -> str | None:
        """A text, or a number as text; None for nothing and for an empty text."""
        if self.content is None or self.content == "":
            return None
        if isinstance(self.content, int | float) and not isinstance(self.content, bool):
            return name_of(str(self.content))
        return self.name()

    def number(self) -> float:
        """Zero or more; a text may hold it."""
        amount = self.number_if_any()
        if amount is None:
            raise self.unlike("a number")
        return amount

    def number_if_any(self) -> float | None:
        """None for nothing, for an empty text, and below zero: boards write -1 for these."""
        content = self.content
        if content is None or content == "":
            return None
        if isinstance(content, str):
            try:
                content = float(content)
            except ValueError:
                raise self.unlike("a number") from None
        if isinstance(content, bool) or not isinstance(content, int | float):
            raise self.unlike("a number")
        if not math.isfinite(content) or content > NUMBER_MAX:
            raise self.unlike("a number below 1e15")
        return float(content) if content >= 0 else None

    def count_if_any(self) -> int | None:
        amount = self.number_if_any()
        if amount is not None and amount != int(amount):
            raise self.unlike("a whole number")
        return None if amount is None else int(amount)

    def seconds_if_any(self) -> float | None:
        """A duration with its unit, as `1.23ms`; a number without one is in seconds."""
        if not isinstance(self.content, str) or not self.content.strip():
            return self.number_if_any()
        match = _AMOUNT.fullmatch(self.content)
        if match is None and self.number_if_any() is None:
            return None
        if match is None or (match[2] and match[2] not in _SECONDS):
            raise self.unlike("a duration such as 1.23ms")
        amount_s = float(match[1]) * _SECONDS.get(match[2], 1.0)
        if amount_s > NUMBER_MAX:
            raise self.unlike("a duration below 1e15 s")
        return amount_s

    def latency_if_any(self, unreadable: list[str]) -> float | None:
        """None for zero, and for a text that is no duration, which is added to `unreadable`."""
        try:
            return self.seconds_if_any() or None
        except DeadheatError:
            name = re.split(r"[ .]", self.place)[-1]
            unreadable.append(f"{name} {one_line(repr(self.content), 40)}")
            return None

    def cpus_if_any(self) -> float | None:
        """A number of CPUs: `250%` are 2.5."""
        if not isinstance(self.content, str) or not self.content.strip().endswith("%"):
            return self.number_if_any()
        amount = Value(self.place, self.content.strip()[:-1]).number_if_any()
        return None if amount is None else amount / 100

    def unlike(self, expected: str) -> DeadheatError:
        got = one_line(repr(self.content), 40)
        return DeadheatError(
            f"{self.place}: expected {expected}, got {got}", "correct it, or leave its row out"
        )


def name_of(text: str) -> str:
    return one_line(text.strip(), NAME_MAX)
