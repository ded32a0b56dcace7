"""What happened within a trial, short enough for a page."""

import pytest

from deadheat.report.model.series import WINDOWS_MAX, Overall, series

USED = {"cpu_s": 1.0, "memory_bytes": 100}


def test_leaves_out_the_fragment_after_the_last_window() -> None:
    load = [{"at_s": 0.1, "ok": 10}, {"at_s": 0.2, "ok": 20}, {"at_s": 0.2004, "ok": 5}]
    columns = series(load, [])
    assert columns.rate_at_s == (0.1, 0.2)
    assert columns.rate_per_s == pytest.approx((100, 200))


def test_a_long_trial_is_joined_and_loses_no_request() -> None:
    load = [{"at_s": 0.1 * i, "ok": i} for i in range(1, 301)]
    columns = series(load, [])
    assert len(columns.rate_per_s) == WINDOWS_MAX
    assert sum(columns.rate_per_s) * 0.5 == pytest.approx(sum(range(1, 301)), rel=1e-4)
    assert columns.rate_at_s[-1] == pytest.approx(30.0)


def sampled(cpu_s: list[float], every_s: float = 0.2) -> list[dict[str, object]]:
    """Samples with the CPU time used so far."""
    return [
        {"at_s": 50.0 + every_s * i, "usage": {"7": {"cpu_s": used, "memory_bytes": 100 + i}}}
        for i, used in enumerate(cpu_s)
    ]


def test_cpu_use_is_between_samples_that_read_it() -> None:
    machine = [*sampled([1.0, 1.1, 1.3, 1.5, 1.6, 1.6])]
    machine.insert(2, {"at_s": 50.3, "usage": {}})
    columns = series([], machine)
    assert columns.usage_at_s == (0.4, 0.6, 0.8)
    assert columns.cpu_cores == pytest.approx((1.0, 1.0, 0.5))
    assert columns.memory_bytes == (102, 103, 104)


def test_cpu_use_of_a_chart_agrees_with_the_figure_below_it() -> None:
    """Regression: 0.77 in the chart, 0.99 in the facts. The chart counted time without load."""
    idle_at_both_ends = [1.0, 1.154, 1.308]
    (chart,) = series([], sampled(idle_at_both_ends), Overall(0.31, 0.99, 900)).cpu_cores
    assert chart == 0.99
    long = series([], sampled([1.0, 1.1, 1.298, 1.496, 1.6]), Overall(0.8, 0.99, 900))
    assert long.cpu_cores == pytest.approx((0.99, 0.99))


def test_a_trial_of_slices_has_its_cpu_use_and_its_peak_memory() -> None:
    """It has no samples in between: its instance ran during its slices only."""
    columns = series([{"at_s": 0.1, "ok": 10}], [], Overall(1.0, 0.83, 4096))
    assert (columns.usage_at_s, columns.cpu_cores) == ((1.0,), (0.83,))
    assert columns.memory_bytes == (4096,)


def test_an_empty_series_is_empty() -> None:
    assert series([], []).rate_per_s == ()
    assert series([{"at_s": 0.0, "ok": 0}], [{"at_s": 1.0, "usage": {}}]).cpu_cores == ()
