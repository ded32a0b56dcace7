"""Numbers and foreign text as short texts: web/test/numbers.test.js has the same cases."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deadheat import numbers
from deadheat.foreign_text import one_line, printable

CASES = json.loads(Path(__file__).with_name("number_cases.json").read_text(encoding="utf-8"))
FUNCTIONS: dict[str, Callable[..., object]] = {
    "printable": printable,
    "rate": numbers.rate,
    "figure": numbers.figure,
    "milliseconds": numbers.milliseconds,
    "microseconds": numbers.microseconds,
    "mebibytes": numbers.mebibytes,
    "percent": numbers.percent,
    "of_leader": numbers.of_leader,
    "count": numbers.count,
    "duration": numbers.duration,
    "reading_and_limit": lambda *values: list(numbers.reading_and_limit(*values)),
    "shell": shlex.join,
}


def test_every_list_of_cases_has_a_function() -> None:
    assert set(CASES) == set(FUNCTIONS)


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [(name, values, text) for name, cases in CASES.items() for values, text in cases],
)
def test_formats_as_the_page_does(name: str, values: list[Any], text: object) -> None:
    assert FUNCTIONS[name](*values) == text


@pytest.mark.parametrize(("text", "shown"), [("a\nb\tc", "a b c"), ("x" * 400, "x" * 300 + "…")])
def test_foreign_text_is_one_line_and_cut(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_listings() -> None:
    assert [numbers.listing(["a", "b", "c"][:n]) for n in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


@pytest.mark.parametrize(
    ("cpus", "shown"), [([], ""), ([3], "3"), ([0, 1, 2, 3, 6], "0-3,6"), ([5, 0, 1], "0-1,5")]
)
def test_cpus_are_ranges(cpus: list[int], shown: str) -> None:
    assert numbers.ranges(cpus) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.0, 1.33, (">0", "33.0")),
        (1.0004, 1.33, (">0", "33.0")),
        (1.002, 21.5, ("0.2", "2,050.0")),
        (0.9999, 1.33, ("0.0", "33.0")),
    ],
)
def test_an_interval_that_begins_at_equality_excludes_it(
    low: float, high: float, shown: tuple[str, str]
) -> None:
    """A pair that is separated step by step has an interval that ends at 1: `[0, 33]` denied it."""
    assert numbers.ends(low, high) == shown
