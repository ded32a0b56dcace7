"""What scrubbing hides, and what it must not hide."""

from pathlib import Path

import pytest

from tests.golden.scrub import as_accepted, rounded, scrubbed


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


@pytest.mark.parametrize(
    ("now", "accepted", "expected"),
    [
        ('{"a": 0.00509313443, "b": 1}', '{"a": 0.00509313442, "b": 1}', "accepted"),
        ("0.00509314442", "0.00509313442", "now"),
        ("1.0", "1", "now"),
        ("12345678902", "12345678901", "now"),
        ("0.5 0.5", "0.5", "now"),
    ],
)
def test_bug_a_last_digit_was_rounded_up_on_one_cpu_and_down_on_another(
    now: str, accepted: str, expected: str
) -> None:
    assert as_accepted(now, accepted) == (accepted if expected == "accepted" else now)


def test_the_longest_path_is_named_first() -> None:
    places = {Path("/made/home"): "<home>", Path("/made"): "<folder>"}
    assert scrubbed("/made/home/x /made/y", places) == "<home>/x <folder>/y"


def test_words_around_an_observed_figure_stay() -> None:
    assert scrubbed("built it in 3 s", {}, observed=True) == "built it in <n> s"
    assert scrubbed("built it in 3 s", {}) == "built it in 3 s"


def test_builds_in_parallel_have_no_order() -> None:
    text = "building a  (1 of 2)\nbuilding a, b  (1 of 2)\nbuilt b in 1 s\nstarting a\n"
    assert scrubbed(text, {}, observed=True) == "<builds in parallel>\nstarting a\n"
