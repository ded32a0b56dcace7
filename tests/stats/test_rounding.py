import numpy as np

from deadheat.stats.distributions import falling


def test_largest_comes_first() -> None:
    assert falling(np.array([1.0, 3.0, 2.0])).tolist() == [1, 2, 0]
    assert falling(np.array([])).tolist() == []


def test_values_alike_but_for_rounding_keep_their_order() -> None:
    """Regression: the last bit of a library's sum decided who of two equals came first."""
    bit = np.spacing(9.0)
    for first, second in ((9.0, 9.0 + bit), (9.0 + bit, 9.0), (9.0, 9.0)):
        assert falling(np.array([8.0, first, 10.0, second])).tolist() == [2, 1, 3, 0]
