from typing import Any

import pytest

from deadheat.audit.audit import fold, mean_busy


def sample(at_s: float, busy_ticks: int, idle_ticks: int, memory: int = 1000) -> dict[str, Any]:
    ticks = [busy_ticks, 0, 0, idle_ticks, 0, 0, 0, 0]
    return {
        "at_s": at_s,
        "cpu_ticks": {"0": ticks},
        "usage": {"1": {"memory_bytes": memory}},
        "memory_available_bytes": 5000,
    }


def test_folds_samples_to_seconds() -> None:
    quarters = [sample(10 + n / 4, 20 * n, 5 * n) for n in range(11)]  # 2.5 s, four fifths busy
    seconds = fold(quarters)
    assert [second.at_s for second in seconds] == [1.0, 2.0, 2.5]
    assert [second.busy[0] for second in seconds] == [pytest.approx(0.8)] * 3
    assert seconds[0].memory_bytes == 1000
    assert mean_busy(seconds) == {0: pytest.approx(0.8)}


def test_a_trial_without_samples_has_no_seconds() -> None:
    assert fold([]) == ()
    assert fold([sample(1, 0, 0)]) == ()
    assert mean_busy(()) == {}
