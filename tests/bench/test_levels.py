import numpy as np
import pytest

from bench.levels import Kind, classify
from tests.stats.test_changepoint import series


@pytest.mark.parametrize(
    ("levels", "kind", "start"),
    [
        ([(40, 1000)], Kind.FLAT, 0),
        ([(15, 700), (30, 1000)], Kind.WARM_UP, 15),
        ([(10, 400), (10, 700), (30, 1000)], Kind.WARM_UP, 20),
        ([(20, 1000), (30, 800)], Kind.SLOWDOWN, 20),
        ([(10, 700), (15, 1000), (25, 850)], Kind.SLOWDOWN, 25),
        ([(40, 700), (8, 1000)], Kind.NONE, 40),
    ],
)
def test_series_are_classed(levels: list[tuple[int, float]], kind: Kind, start: int) -> None:
    steady = classify(series(*levels), asked=40)
    assert steady.kind is kind
    assert abs(steady.start - start) <= 1
    assert steady.windows == sum(windows for windows, _ in levels) - steady.start
    assert steady.rate == pytest.approx(levels[-1][1], rel=0.02)
    assert steady.is_steady == (kind is not Kind.NONE)


def test_a_level_within_the_tolerance_is_the_same_level() -> None:
    assert classify(series((25, 980), (25, 1000), sd=0.002), asked=40).kind is Kind.FLAT


def test_a_rate_that_keeps_rising_is_not_steady() -> None:
    """A slope is cut into steps by change points; the last step is too short to count."""
    rising = series((60, 1000), sd=0.01) * np.linspace(0.5, 1, 60)
    assert classify(rising, asked=40).kind is Kind.NONE


def test_a_drift_across_levels_within_the_tolerance_is_not_flat() -> None:
    drifting = series((120, 1000), sd=0.04) * np.linspace(0.965, 1.035, 120)
    steady = classify(drifting, asked=120, tolerance=0.05)
    assert steady.kind is Kind.NONE
    assert "drifts" in steady.reason


def test_steadiness_is_found_while_it_comes() -> None:
    """Asked after each window: no while warming up, then yes and for good."""
    rates = series((12, 500), (12, 800), (40, 1000))
    answers = [classify(rates[:seen], asked=30).is_steady for seen in range(1, 65)]
    first = answers.index(True)
    assert 38 <= first + 1 <= 42
    assert all(answers[first:])


def test_no_window_is_not_steady() -> None:
    assert classify([], asked=10).reason == "no window yet"


def test_a_silent_server_is_flat_at_nothing() -> None:
    assert classify([0.0] * 30, asked=20).rate == 0


def test_something_has_to_be_asked_for() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        classify([1.0], asked=0)
