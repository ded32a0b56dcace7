"""Figures and foreign text as words."""

import pytest

from deadheat.report import format
from deadheat.store import Unit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("left\u202eright", "left\\u202eright"),
        ("x" * 400, "x" * 300 + "…"),
        ("Größe 大", "Größe 大"),
    ],
)
def test_foreign_text_is_one_line_without_control_characters(text: str, shown: str) -> None:
    assert format.plain(text) == shown


@pytest.mark.parametrize(
    ("per_s", "shown"), [(None, "–"), (1234567.8, "1,234,568"), (99.96, "100"), (3.14159, "3.14")]
)
def test_rates(per_s: float | None, shown: str) -> None:
    assert format.rate(per_s) == shown


@pytest.mark.parametrize(
    ("us", "shown"),
    [(None, "–"), (87, "0.087"), (1234, "1.23"), (12345, "12.3"), (1234567, "1,235")],
)
def test_milliseconds_keep_three_digits(us: float | None, shown: str) -> None:
    assert format.milliseconds(us) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.5, "500 ms"),
        (5, "5 s"),
        (59.99, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (36000, "10 h"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert format.duration(seconds) == shown


def test_listings() -> None:
    assert [format.listing(["a", "b", "c"][:n]) for n in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


@pytest.mark.parametrize(
    ("read", "limit", "unit", "shown"),
    [
        (0.9008, 0.0704, "share", ("90 %", "7 %")),
        (0.0137, 0.0101, "share", ("1.4 %", "1 %")),
        (0.9896, 0.9899, "share", ("98.96 %", "98.99 %")),
        (0.704, 0.7, "share", ("70.4 %", "70 %")),
        (3.2, 0.8, "share", ("320 %", "80 %")),
        (28687.0, 100.0, "us", ("28,687 µs", "100 µs")),
        (248.35, 1.0, "per_10k", ("248 per 10,000 requests", "1 per 10,000 requests")),
        (264.0, 0.0, "count", ("264", "0")),
    ],
)
def test_a_reading_and_its_limit_have_units_and_are_told_apart(
    read: float, limit: float, unit: Unit, shown: tuple[str, str]
) -> None:
    assert format.told_apart(read, limit, unit) == shown


@pytest.mark.parametrize(
    ("cpus", "shown"), [([], ""), ([3], "3"), ([0, 1, 2, 3, 6], "0-3,6"), ([5, 0, 1], "0-1,5")]
)
def test_cpus_are_ranges(cpus: list[int], shown: str) -> None:
    assert format.ranges(cpus) == shown
