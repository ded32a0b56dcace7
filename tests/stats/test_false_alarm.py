import numpy as np
import pytest

from deadheat.campaign.calibrate import allowed_rate, false_alarms
from deadheat.stats.ranking.pairs import fit_pairs
from tests.stats.races import MACHINES, Noise


def test_allowed_rate_at_200_pairs() -> None:
    assert allowed_rate(0.05, 200) == pytest.approx(0.075, abs=0.0005)


@pytest.mark.parametrize("machine", ["starts differ", "combination"])
def test_copies_of_one_server_pass(machine: str) -> None:
    generator = np.random.default_rng(101)
    runs = [fit_pairs(MACHINES[machine].rates(generator, [0.0] * 8)) for _ in range(8)]
    result = false_alarms(runs)
    assert result.null_pairs == 224
    assert result.passed
    assert result.low <= result.false_difference_rate <= result.high


def test_different_servers_fail() -> None:
    generator = np.random.default_rng(102)
    gaps = np.linspace(0, 0.5, 8).tolist()
    runs = [fit_pairs(Noise().rates(generator, gaps)) for _ in range(8)]
    result = false_alarms(runs)
    assert result.false_difference_rate > result.allowed
    assert not result.passed


def test_too_few_pairs_fail_and_none_is_an_error() -> None:
    result = false_alarms([fit_pairs(Noise().rates(np.random.default_rng(103), [0.0] * 4))])
    assert result.null_pairs == 6
    assert not result.passed
    with pytest.raises(ValueError, match="no pair"):
        false_alarms([])
