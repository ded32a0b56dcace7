"""Durations as options take them."""

import click
import pytest

from deadheat.cli.options import Duration


@pytest.mark.parametrize(
    ("text", "duration_s"),
    [
        ("500ms", 0.5),
        ("5s", 5.0),
        ("2m", 120.0),
        ("1.5h", 5400.0),
        ("2m30s", 150.0),
        ("1h5m", 3900.0),
        ("1s500ms", 1.5),
    ],
)
def test_duration(text: str, duration_s: float) -> None:
    assert Duration().convert(text, None, None) == pytest.approx(duration_s)


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "30s2m", "2m2m", "2m 30s", "-5s", "5d"])
def test_text_that_is_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a duration such as"):
        Duration().convert(text, None, None)
