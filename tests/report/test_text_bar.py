"""Bars of text with whiskers."""

import math

import pytest

from deadheat.report.formats.text_bar import axis, bar, plain_bar


def test_a_whisker_spans_the_interval() -> None:
    assert bar(0.7, 0.5, 0.9, 10, 1.0) == "█████├█─┤"


def test_an_interval_of_less_than_two_characters_has_no_whisker() -> None:
    assert bar(0.7, 0.69, 0.71, 10, 1.0) == "███████"


def test_an_unknown_interval_fades_out() -> None:
    assert bar(0.4, 0.0, math.inf, 10, 1.0) == "██▒▒░░░░░░"


def test_an_interval_beyond_the_end_has_no_end_sign() -> None:
    assert bar(0.9, 0.5, 1.4, 10, 1.25) == "████├─█──░"


@pytest.mark.parametrize("ratio", [0.0, 0.001, 1.0, 9.0])
def test_a_bar_stays_within_its_cells(ratio: float) -> None:
    for low, high in ((ratio, ratio), (ratio / 2, ratio * 2), (0.0, math.inf)):
        assert 1 <= len(bar(ratio, low, high, 12, 1.0)) <= 12


def test_no_ratio_has_no_bar() -> None:
    assert bar(math.nan, 0.0, math.inf, 10, 1.0) == plain_bar(math.nan, 10, 1.0) == ""


def test_the_axis_marks_the_fastest() -> None:
    assert axis(20, 1.0) == "0       50       100"
    assert axis(25, 1.25).endswith("100")
    assert axis(5, 1.0) == ""
