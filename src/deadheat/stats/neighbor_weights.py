"""Robust weights that a slice's own rate does not set: only its neighbors in time do.

A disturbance of the machine hits several slices in a row, of several contenders. A pause of the
server hits its own slice alone, and belongs to its rate. So the weight of a slice follows from the
residuals of the *other* contenders' slices next to it. What a slice itself did leaves its weight
alone, so that weighing down selects nothing by outcome.
"""

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.slice_layout import Layout

_REACH = 4  # slices on either side
_DECAY = 0.75  # of a neighbor's say, from one slice to the next
_MOST = 25.0  # of a neighbor's squared standardized residual
_CALM = 2.0  # times the ordinary squares: up to here a neighborhood is calm


def neighbor_weights(layout: Layout, standardized: Floats) -> Floats:
    """Weights in (0, 1] for sorted slices, from `standardized` residuals (robust unit scale).

    1 / volatility, where volatility is the weighted mean of the squared residuals of other
    contenders up to four slices away, over what is calm. The largest of them is left out:
    one neighbor that pauses by itself is no disturbance of the machine.
    """
    squares = np.full((layout.gap_s.shape[0], layout.gap_s.shape[1] + 2 * _REACH), np.nan)
    squares[layout.row, layout.column + _REACH] = np.minimum(standardized**2, _MOST)
    who = np.full(squares.shape, -1)
    who[layout.row, layout.column + _REACH] = layout.contender
    near, says = [], []
    for step in (*range(-_REACH, 0), *range(1, _REACH + 1)):
        place = layout.row, layout.column + _REACH + step
        other = (who[place] >= 0) & (who[place] != layout.contender)
        near.append(np.where(other, squares[place], 0.0))
        says.append(np.where(other, _DECAY ** (abs(step) - 1), 0.0))
    square, say = np.array(near), np.array(says)
    loudest = (square * say).argmax(axis=0)
    every = np.arange(len(layout))
    say[loudest, every] = 0.0
    total = say.sum(axis=0)
    volatility = np.where(total > 0, (say * square).sum(axis=0) / np.maximum(total, 1e-9), 1.0)
    return 1 / np.maximum(volatility / _CALM, 1.0)
