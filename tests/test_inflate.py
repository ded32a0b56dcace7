"""Bounds on what a store or bundle unpacks to."""

import json
import zlib

import pytest

from deadheat.inflate import DEPTH_MAX, TEXT_BYTES_MAX, VALUES_MAX, inflate, parse


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_inflates_what_zlib_packed() -> None:
    assert inflate(zlib.compress(b"rows")) == b"rows"
    assert inflate(zlib.compress(b"rows"), 4) == b"rows"


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (b"no zlib", "damaged"),
        (zlib.compress(b"rows" * 100)[:-8], "cut short"),
        (b"", "cut short"),
        (None, "more than"),
    ],
)
def test_rejects_a_decompression_bomb(packed: bytes | None, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        inflate(zlib.compress(bytes(TEXT_BYTES_MAX + 1)) if packed is None else packed)


@pytest.mark.parametrize("value", [[], {}, None, 1, "[[[[", [{"usage": {"1": [1, 2]}}]])
@pytest.mark.parametrize("encode", [str, str.encode])
def test_parses_json(value: object, encode: object) -> None:
    text = json.dumps(value)
    assert parse(text if encode is str else text.encode()) == value


@pytest.mark.parametrize(
    "text", [r'"\udc80"', '\ufeff{"a": 1}', "NaN", "-Infinity", "1e999", "-0", '{"a": 1, "a": 2}']
)
def test_parses_all_that_python_parses(text: str) -> None:
    assert repr(parse(text.encode())) == repr(json.loads(text.encode()))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (nested(DEPTH_MAX + 1), "nested more than"),
        ('{"a":' * 100_000, "nested too deeply"),
        (nested(100_000), "nested too deeply"),
        ("[" + "0," * VALUES_MAX + "0]", "values"),
        ("[" + "0  ," * (TEXT_BYTES_MAX // 4) + "0]", "characters"),
        (b"\xff", "utf-8"),
        ("[1", "delimiter"),
    ],
)
def test_rejects_json_that_a_reader_cannot_hold(text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


def test_parses_up_to_the_allowed_depth() -> None:
    assert parse(nested(DEPTH_MAX)) is not None


def test_bug_brackets_within_texts_counted_as_depth() -> None:
    """The report of a race with the workloads `json` and `page` failed: they hold templates."""
    value = {"body": "{" * 100 + "[" * 100}
    assert parse(json.dumps(value)) == value
