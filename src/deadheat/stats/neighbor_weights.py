"""Robust weights that a slice's own rate does not set: only its neighbors in time do.

A disturbance of the machine hits several slices in a row, of several contenders. A pause of the
server hits its own slice alone, and belongs to its rate. So the weight of a slice follows from the
residuals of the *other* contenders' slices next to it. What a slice itself did leaves its weight
alone, so that weighing down selects nothing by outcome.
"""

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.slice_layout import Layout
from deadheat.stats.slice_weights import FirstLook

_REACH = 4  # slices on either side
_DECAY = 0.75  # of a neighbor's say, from one slice to the next
_MOST = 25.0  # of a neighbor's squared standardized residual
_CALM = 2.0  # times the ordinary squares: up to here a neighborhood is calm


def neighbor_weights(layout: Layout, first: FirstLook) -> Floats:
    """Weights in (0, 1] for sorted slices.

    1 / volatility, where volatility is the weighted mean of the squared residuals of other
    contenders up to four slices away, over what is calm. The largest of them is left out:
    one neighbor that pauses by itself is no disturbance of the machine.
    """
    weights = np.ones(len(layout))
    for contender in np.unique(layout.contender):
        own = layout.contender == contender
        weights[own] = _weights(layout, own, first.beside(layout, contender))
    return weights


def _weights(layout: Layout, own: npt.NDArray[np.bool_], standardized: Floats) -> Floats:
    """Those of the contender's `own` slices; `standardized` residuals have robust unit scale."""
    squares = np.zeros((layout.gap_s.shape[0], layout.gap_s.shape[1] + 2 * _REACH))
    others = np.zeros(squares.shape, dtype=bool)
    squares[layout.row, layout.column + _REACH] = np.minimum(standardized**2, _MOST)
    others[layout.row, layout.column + _REACH] = ~own
    steps = np.array([*range(-_REACH, 0), *range(1, _REACH + 1)])[:, None]
    place = layout.row[own], layout.column[own] + _REACH + steps
    say = np.where(others[place], _DECAY ** (np.abs(steps) - 1), 0.0)
    square = squares[place]
    loudest = (square * say).argmax(axis=0)
    say[loudest, np.arange(say.shape[1])] = 0.0
    total = say.sum(axis=0)
    volatility = np.where(total > 0, (say * square).sum(axis=0) / np.maximum(total, 1e-9), 1.0)
    return np.asarray(1 / np.maximum(volatility / _CALM, 1.0))
