"""What scrubbing hides, and what it must not hide."""

from pathlib import Path

import pytest

from tests.golden.scrub import rounded, scrubbed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.30000000000000004", "0.3"),
        ('{"low": -1234.5678901234}', '{"low": -1234.56789}'),
        ("3.2e-17", "0.0"),
        ("2.00 s of 1.50", "2.00 s of 1.50"),
        ("12345678901234 requests", "12345678901234 requests"),
        ("wrk 4.1.0-3+b2, 20260101-120000-0001", "wrk 4.1.0-3+b2, 20260101-120000-0001"),
    ],
)
def test_rounding_takes_the_last_digits_of_floats_alone(text: str, expected: str) -> None:
    assert rounded(text) == expected


def test_the_longest_path_is_named_first() -> None:
    places = {Path("/made/home"): "<home>", Path("/made"): "<folder>"}
    assert scrubbed("/made/home/x /made/y", places) == "<home>/x <folder>/y"


def test_words_around_an_observed_figure_stay() -> None:
    assert scrubbed("built it in 3 s", {}, observed=True) == "built it in <n> s"
    assert scrubbed("built it in 3 s", {}) == "built it in 3 s"


def test_builds_in_parallel_have_no_order() -> None:
    text = "building a  (1 of 2)\nbuilding a, b  (1 of 2)\nbuilt b in 1 s\nstarting a\n"
    assert scrubbed(text, {}, observed=True) == "<builds in parallel>\nstarting a\n"
