"""The values of options: numbers, durations, levels, percentages and sizes."""

import re
from typing import Any

import click

from deadheat.catalog.manifest import TRANSPORTS, WEEK_S

SIZE_BYTES_MIN = 1024


class Number(click.ParamType[int]):
    """A whole number from `least`, to `most` if there is one."""

    name = "n"

    def __init__(self, least: int = 1, most: int | None = None) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        number = int(value) if re.fullmatch(r"[0-9]{1,99}", value) else -1
        if number < self._least or (self._most is not None and number > self._most):
            expected = f"a whole number of at least {self._least}"
            if self._most is not None:
                expected = f"a whole number from {self._least} to {self._most}"
            self.fail(f"{value!r}: expected {expected}", param, ctx)
        return number


class Duration(click.ParamType[float]):
    """`500ms`, `5s`, `2m`, `2m30s` -> seconds."""

    name = "duration"
    _units_s = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}  # noqa: RUF012
    _parts = "".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in _units_s)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float | int):
            return float(value)
        match = re.fullmatch(self._parts, value)
        numbers = match.groups(default="0") if match else ()
        duration_s = sum(
            float(number) * unit_s
            for number, unit_s in zip(numbers, self._units_s.values(), strict=False)
        )
        if duration_s == 0:
            self.fail(f"{value!r}: expected a duration such as 500ms, 5s or 2m30s", param, ctx)
        if duration_s > WEEK_S:
            self.fail(f"{value!r}: expected at most 7 days", param, ctx)
        return duration_s


class Levels(click.ParamType[tuple[int, ...]]):
    """`10,100,1000` -> (10, 100, 1000)."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")]
        if not all(re.fullmatch(r"0*[1-9][0-9]{0,6}", part) for part in parts):
            self.fail(f"{value!r}: expected positive numbers such as 10,100,1000", param, ctx)
        return tuple(dict.fromkeys(int(part) for part in parts))


class Rates(click.ParamType[tuple[float | str, ...]]):
    """`1000,10000` -> (1000.0, 10000.0); `10%` stays: it is a share of a rate to be measured."""

    name = "rates"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float | str, ...]:
        if isinstance(value, tuple):
            return value
        from deadheat.protocol.model import SHARE_TEXT  # `list` needs no protocol

        rates: list[float | str] = []
        for part in (part.strip() for part in value.split(",")):
            if re.fullmatch(SHARE_TEXT, part):
                rates.append(part)
            elif re.fullmatch(r"\d{1,9}(\.\d{1,6})?", part) and float(part) > 0:
                rates.append(float(part))
            else:
                expected = "requests/s or shares below 100%, such as 1000,10000 or 10%"
                self.fail(f"{part!r}: expected {expected}", param, ctx)
        return tuple(dict.fromkeys(rates))


class Transports(click.ParamType[tuple[str, ...]]):
    """`http,https` -> ("http", "https")."""

    name = "transports"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")]
        if not set(parts) <= set(TRANSPORTS):
            known = f"{', '.join(TRANSPORTS[:-1])} or {TRANSPORTS[-1]}"
            self.fail(f"{value!r}: expected {known}, or several such as http,https", param, ctx)
        return tuple(dict.fromkeys(parts))


class Percentage(click.ParamType[float]):
    """`3%` -> 0.03."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value)
        if match is None or not 0 < float(match.group(1)) < 50:
            self.fail(
                f"{value!r}: expected a percentage above 0 and below 50, such as 3%", param, ctx
            )
        return float(match.group(1)) / 100


class Size(click.ParamType[int]):
    """`512M`, `4G` -> bytes."""

    name = "size"
    _units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([KMGT])(?:i?B)?", value)
        size_bytes = int(float(match.group(1)) * self._units[match.group(2)]) if match else 0
        if size_bytes < SIZE_BYTES_MIN:
            self.fail(f"{value!r}: expected a size such as 64K, 512M or 4G", param, ctx)
        return size_bytes
