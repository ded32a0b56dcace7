"""Which slices of a race count: the early ones of an instance that still settled do not."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.model.slices import Indices, SliceArrays, SliceColumns
from deadheat.stats.warmup.settling import SLICES_MIN, Settling, settling

_ROUNDS_AT_ONCE = 1000  # few instances share them, so the counts of a long race need little memory
_RIDGE = 1e-11  # of the sum of all counts; only contrasts of linked instances mean anything


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The slices that count, and a finding for each instance whose slices do not all count.

    `slices` are in the order of their time. `settlings` maps an instance to what `settling` says of
    it; instances without a finding are left out. `owners` maps each instance to its contender.
    `silent` maps a contender to the share of its windows' time in which nothing was sent: those
    windows lay in a pause. `paused` maps one to the share of its time in pauses, those of discarded
    parts included. A contender with a share of 0 is left out.
    """

    slices: SliceColumns
    settlings: Mapping[int, Settling]
    owners: Mapping[int, str]
    silent: Mapping[str, float]
    paused: Mapping[str, float]


def count_slices(columns: SliceColumns) -> Counted:
    """Leave out the early slices of each instance that still climbed or sank (see `settling`).

    The reference of a slice is what the others did in its round, each relative to its own level.
    """
    every = columns.taken(columns.by_time())
    silent = _shares(every, every.window_s * (every.rate_per_s == 0), every.window_s)
    paused = _shares(every, every.paused_s, np.maximum(every.window_s, every.paused_s))
    every = every.taken(every.rate_per_s > 0)
    log_rate = _logarithms(every.rate_per_s)
    reference = _references(every, log_rate)
    counts = np.ones(len(every), dtype=bool)
    settlings: dict[int, Settling] = {}
    owners: dict[int, str] = {}
    for instance, places in _by_instance(every.instance):
        owners[instance] = every.names[every.contender[places[-1]]]
        if len(places) >= SLICES_MIN:
            finding = settling(every.rate_per_s[places], reference[places])
            if finding.excluded or not finding.settled:
                settlings[instance] = finding
            counts[places[: finding.excluded]] = False
    return Counted(every.taken(counts), settlings, owners, silent, paused)


def _shares(columns: SliceColumns, part_s: Floats, whole_s: Floats) -> dict[str, float]:
    count = len(columns.names)
    parts_s = np.bincount(columns.contender, part_s, count)
    wholes_s = np.bincount(columns.contender, whole_s, count)
    return {
        columns.names[place]: float(parts_s[place] / wholes_s[place])
        for place in np.flatnonzero(parts_s)
    }


def _by_instance(instance: Indices) -> Iterator[tuple[int, Indices]]:
    """Each instance with its places, in the order of their first slices."""
    numbers, first, which = np.unique(instance, return_index=True, return_inverse=True)
    grouped = np.argsort(which, kind="stable")
    places = np.split(grouped, np.cumsum(np.bincount(which))[:-1])
    for number in np.argsort(first):
        yield int(numbers[number]), places[number]


def slices_of(counted: Counted, names: Sequence[str]) -> SliceArrays:
    """The arrays that the model reads; slices of other names are left out."""
    columns = counted.slices
    place = {name: number for number, name in enumerate(names)}
    places = np.array([place.get(name, -1) for name in columns.names], dtype=np.int64)
    contender = places[columns.contender]
    used = contender >= 0
    return SliceArrays(
        log_rate=_logarithms(columns.rate_per_s[used]),
        contender=contender[used],
        instance=_numbered(columns.instance[used]),
        block=_numbered(columns.block[used]),
        round=_numbered(columns.round[used]),
        time_s=columns.at_s[used],
        weight=columns.weight[used],
        witness=_logarithms(columns.witness_per_s[used]),
        contenders=len(names),
        silent=np.array([counted.silent.get(name, 0.0) for name in names], dtype=float),
        paused=np.array([counted.paused.get(name, 0.0) for name in names], dtype=float),
    )


def _logarithms(values: Floats) -> Floats:
    """As the C library has them: those of NumPy differ between processors in the last digit."""
    return np.array([math.log(value) for value in values.tolist()], dtype=float)


def _numbered(values: Indices) -> Indices:
    _, indices = np.unique(values, return_inverse=True)
    return np.asarray(indices, dtype=np.int64).reshape(-1)


def _references(rows: SliceColumns, log: Floats) -> Floats:
    """For each row: the geometric mean of the others of its round, relative to their own levels.

    NaN where it was alone in its round.
    """
    round_, instance = _numbered(rows.round), _numbered(rows.instance)
    relative = log - _levels(instance, round_, log)[instance]
    count = np.bincount(round_)[round_]
    others = np.bincount(round_, relative)[round_] - relative
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 1, others / (count - 1), np.nan)
    return np.array([math.exp(value) for value in mean.tolist()])


def _levels(instance: Indices, round_: Indices, log: Floats) -> Floats:
    """Least squares of log rate = instance + round; one level per instance.

    An instance that raced in a slow part of the race alone has a low mean. Beside that mean, the
    part would look like any other, and those that race on would seem to get faster. With one level
    for all instances of a contender, a slow one that stops would look like a change of the others.
    """
    count = int(instance.max(initial=-1)) + 1
    normal, right = np.zeros((count, count)), np.zeros(count)
    part_of = round_ // _ROUNDS_AT_ONCE
    by_part = np.argsort(part_of, kind="stable")
    for part in np.split(by_part, np.cumsum(np.bincount(part_of))[:-1]):
        own, row = np.unique(instance[part], return_inverse=True)
        column = round_[part] % _ROUNDS_AT_ONCE
        counts = np.zeros((len(own), column.max(initial=-1) + 1))
        np.add.at(counts, (row, column), 1.0)
        in_round = counts / counts.sum(axis=0)
        normal[np.ix_(own, own)] += np.diag(counts.sum(axis=1)) - counts @ in_round.T
        right[own] += np.bincount(row, log[part]) - in_round @ np.bincount(column, log[part])
    ridge = _RIDGE * max(float(np.trace(normal)), 1.0)
    return np.asarray(np.linalg.solve(normal + ridge * np.eye(count), right))
