"""JSON as a value, of which a server may choose the spelling."""

import json
from typing import Any


def is_same_json(text: str, other: str) -> bool:
    """Whether both are JSON of the same value: 1 and 1.0 are, true and 1 are not.

    The order of keys, white space and escapes do not count. A repeated key does.
    """
    try:
        return _same(_parse(text), _parse(other))
    except (ValueError, RecursionError):
        return False


def _parse(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object, parse_constant=_reject)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key occurs twice")
    return value


def _reject(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_same(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same, value, other))
    is_logical = isinstance(value, bool), isinstance(other, bool)
    return is_logical[0] == is_logical[1] and bool(value == other)
