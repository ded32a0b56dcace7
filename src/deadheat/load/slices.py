"""The engine's resident mode: one line asks for a slice, one line answers.

The lines are described in docs/engine-slices.md.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from deadheat.load.base import GeneratorFailed, LoadResult
from deadheat.load.engine import BINARY, SCHEMA, Engine, result_of

GO, STOP = '{"type": "go"}', '{"type": "stop"}'


@dataclass(frozen=True, slots=True)
class SliceRequest:
    """One slice: how long counted requests are sent, and how long others before them.

    `renew` closes and reopens every connection first. `hang_up` closes them after the slice; the
    next slice opens them again. With `together`, the load process measures after `GO`, and loads
    until `STOP`.
    """

    duration_s: float
    discard_s: float = 0.01
    renew: bool = False
    hang_up: bool = False
    together: bool = False

    def line(self, number: int) -> str:
        """The line that asks for it; its answer repeats the number."""
        return json.dumps({"id": number, **asdict(self)})


def read_point(line: str, wanted: str, number: int) -> None:
    """Check that a slice with `together` is at a point: `waiting`, `going` or `measured`.

    Raises `GeneratorFailed` for another answer.
    """
    answer = object_of(line)
    if answer.get("type") == "error":
        raise GeneratorFailed(f"{BINARY} refused the slice: {answer.get('message')}")
    if answer.get("type") != wanted or answer.get("id") != number:
        raise GeneratorFailed(f"{BINARY} is not {wanted} in slice {number}: {line[:200]}")


def read_ready(line: str) -> None:
    """Check the first line of a resident load process. Raises `GeneratorFailed`."""
    answer = object_of(line)
    if answer.get("schema") != SCHEMA:
        raise GeneratorFailed(
            f"{BINARY} speaks schema {answer.get('schema')}, expected {SCHEMA}",
            "rebuild it: make build",
        )
    if fault := answer.get("preflight_error"):
        raise GeneratorFailed(f"the first request failed: {fault}")


def read_slice(line: str, number: int, version: str) -> LoadResult:
    """What one slice measured. Raises `GeneratorFailed` for another answer."""
    answer = object_of(line)
    if answer.get("type") == "error":
        raise GeneratorFailed(f"{BINARY} refused the slice: {answer.get('message')}")
    if answer.get("type") != "slice" or answer.get("id") != number:
        raise GeneratorFailed(f"{BINARY} did not answer slice {number}: {line[:200]}")
    if answer["interrupted"]:
        raise GeneratorFailed(f"{BINARY} was interrupted during slice {number}")
    return result_of(answer, Engine.name, version)


def object_of(line: str) -> Mapping[str, Any]:
    """The JSON object of a line. Raises `GeneratorFailed`."""
    try:
        answer = json.loads(line)
    except json.JSONDecodeError as error:
        raise GeneratorFailed(f"{BINARY} printed no JSON: {line[:200]}") from error
    if not isinstance(answer, dict):
        raise GeneratorFailed(f"{BINARY} printed no JSON object: {line[:200]}")
    return answer
