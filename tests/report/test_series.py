"""What happened within a trial, short enough for a page."""

import pytest

from deadheat.report.model.series import WINDOWS_MAX, series

USED = {"cpu_s": 1.0, "memory_bytes": 100}


def test_the_fragment_after_the_last_window_is_no_rate() -> None:
    load = [{"at_s": 0.1, "ok": 10}, {"at_s": 0.2, "ok": 20}, {"at_s": 0.2004, "ok": 5}]
    found = series(load, [])
    assert found.rate_at_s == (0.1, 0.2)
    assert found.rate_per_s == pytest.approx((100, 200))


def test_a_long_trial_is_joined_and_loses_no_request() -> None:
    load = [{"at_s": 0.1 * i, "ok": i} for i in range(1, 301)]
    found = series(load, [])
    assert len(found.rate_per_s) == WINDOWS_MAX
    assert sum(found.rate_per_s) * 0.5 == pytest.approx(sum(range(1, 301)), rel=1e-4)
    assert found.rate_at_s[-1] == pytest.approx(30.0)


def test_cpu_use_is_between_samples_that_read_it() -> None:
    machine = [
        {"at_s": 50.0, "usage": {"7": USED}},
        {"at_s": 50.5, "usage": {}},
        {"at_s": 52.0, "usage": {"7": {"cpu_s": 2.5, "memory_bytes": 300}}},
    ]
    found = series([], machine)
    assert found.usage_at_s == (2.0,)
    assert found.cpu_cores == (0.75,)
    assert found.memory_bytes == (300,)


def test_nothing_stored_is_nothing_shown() -> None:
    assert series([], []).rate_per_s == ()
    assert series([{"at_s": 0.0, "ok": 0}], [{"at_s": 1.0, "usage": {}}]).cpu_cores == ()
