"""What happened within a trial, short enough for a page."""

import pytest

from deadheat.report.model.series import WINDOWS_MAX, series

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


def test_cpu_use_is_between_samples_that_read_it() -> None:
    machine = [
        {"at_s": 50.0, "usage": {"7": USED}},
        {"at_s": 50.5, "usage": {}},
        {"at_s": 52.0, "usage": {"7": {"cpu_s": 2.5, "memory_bytes": 300}}},
    ]
    columns = series([], machine)
    assert columns.usage_at_s == (2.0,)
    assert columns.cpu_cores == (0.75,)
    assert columns.memory_bytes == (300,)


def test_an_empty_series_is_empty() -> None:
    assert series([], []).rate_per_s == ()
    assert series([{"at_s": 0.0, "ok": 0}], [{"at_s": 1.0, "usage": {}}]).cpu_cores == ()
