"""The SVG chart of a timeline."""

import datetime
import re

import pytest

from deadheat.serve.servers import DATES_MAX, LEFT, RIGHT, WIDTH, Mark, chart
from deadheat.workload import HELLO, Level


def marks(number: int, highest_per_s: float = 9500.0) -> list[Mark]:
    return [
        Mark(
            run_id=f"run-{index}",
            started_at=datetime.datetime(2026, 1, 1) + datetime.timedelta(index // 10),
            level=Level(HELLO, 100),
            version=f"1.{index // 100}",
            median_per_s=0.8 * highest_per_s,
            slowest_per_s=0.5 * highest_per_s,
            fastest_per_s=highest_per_s,
        )
        for index in range(number)
    ]


def labels(drawn: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", drawn)


def positions(drawn: str) -> list[float]:
    return [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]


def test_a_single_run_is_in_the_middle() -> None:
    drawn = chart("rates", marks(1))
    assert positions(drawn) == [(LEFT + WIDTH - RIGHT) / 2]
    assert labels(drawn).count("2026-01-01") == 1


def test_two_runs_are_at_the_ends() -> None:
    assert positions(chart("rates", marks(2))) == [LEFT, WIDTH - RIGHT]


def test_many_runs_have_few_dates_and_each_version_once() -> None:
    drawn = chart("rates", marks(200))
    dates = [label for label in labels(drawn) if label.startswith("2026-")]
    assert len(positions(drawn)) == 200
    assert 2 <= len(dates) <= DATES_MAX
    assert len(set(dates)) == len(dates)
    assert [label for label in labels(drawn) if label.startswith("1.")] == ["1.0", "1.1"]


@pytest.mark.parametrize(
    ("highest_per_s", "ticks"),
    [
        (9500.0, ["0", "2,000", "4,000", "6,000", "8,000", "10,000"]),
        (123_456.0, ["0", "25,000", "50,000", "75,000", "100,000", "125,000"]),
        (0.7, ["0", "0.2", "0.4", "0.6", "0.8"]),
    ],
)
def test_ticks_are_round_rates(highest_per_s: float, ticks: list[str]) -> None:
    assert labels(chart("rates", marks(1, highest_per_s)))[: len(ticks)] == ticks
