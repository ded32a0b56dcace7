"""Numbers beside each other agree: in sign, in rounding, and rates with their ratio."""

import math
import re
from pathlib import Path

import pytest

from deadheat.report.findings.comparison import two_contenders, two_runs
from deadheat.report.findings.conclusion import difference
from deadheat.report.formats.regression import _interval
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.stats.ratio import RatioInterval
from tests.report.made import made_run


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (0.799, 0.697, 0.915, "20.1 % slower [8.5, 30.3]"),
        (1.012, 0.995, 1.03, "1.2 % faster [-0.5, 3.0]"),
        (0.99, 0.97, 1.02, "1.0 % slower [-2.0, 3.0]"),
        (0.99, 0.0, math.inf, "1.0 % slower [unknown]"),
    ],
)
def test_the_interval_has_the_direction_of_its_words(
    ratio: float, low: float, high: float, text: str
) -> None:
    """Regression: "20.1 % slower [-30.3, -8.5]"."""
    assert _interval(ratio, low, high) == text


def test_no_interval_has_a_minus_in_front_of_zero() -> None:
    assert difference(RatioInterval(1.02, 0.9999, 1.04, 4.0, 8, 3, "made")) == "2.0 % [0.0, 4.0]"


def skewed(path: Path, factor: float = 1.0) -> RunView:
    """Rates whose medians contradict the ratio of their geometric means."""
    run = made_run(path)
    rates = {"a": [4000.0, 4708.0, 7000.0], "b": [5045.0, 5000.0, 5100.0]}
    for name, blocks in rates.items():
        run.contender(name)
        for invocation in (1, 2, 3):
            for block, rate in enumerate(blocks, start=1):
                scatter = factor * (1 + 0.002 * invocation * block)
                run.trial(name, rate * scatter, invocation=invocation, block=block)
    return load_view(run.store, run.end())


def test_rates_beside_a_ratio_agree_with_it(tmp_path: Path) -> None:
    """Regression: medians 4,708 and 5,045 beside a ratio of 1.165."""
    view = skewed(tmp_path / "runs.sqlite")
    lines, _ = two_contenders(view, "a", "b")
    a, b = (
        float(re.sub(r".* ([\d,]+) req/s.*", r"\1", line).replace(",", "")) for line in lines[2:4]
    )
    ratio = next(
        float(match[1]) for line in lines if (match := re.search(r"[ab] / [ab] ([\d.]+)", line))
    )
    assert max(a, b) / min(a, b) == pytest.approx(ratio, rel=0.002)


def test_rates_of_two_runs_agree_with_their_ratio(tmp_path: Path) -> None:
    first, second = skewed(tmp_path / "1.sqlite"), skewed(tmp_path / "2.sqlite", 1.165)
    lines, _ = two_runs(first, second)
    rows = [line.split() for line in lines if line.split()[:1] in (["a"], ["b"])]
    assert len(rows) == 2
    for _, before, after, ratio, *_ in rows:
        shown = float(after.replace(",", "")) / float(before.replace(",", ""))
        assert shown == pytest.approx(float(ratio), rel=0.002)
