"""`StoredSlice`: one slice as it is stored and shown; and the slices of many trials in columns.

The live race and the reports read slices here, so both count the same ones.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import Annotated, overload

import numpy as np
from pydantic import ConfigDict, FailFast, Field, TypeAdapter, ValidationError

from deadheat.catalog import faults_text
from deadheat.inflate import inflate, parse, require_bounded
from deadheat.stats.model.slices import Indices, SliceColumns
from deadheat.store.json_columns import decoded


def _is_unknown(figure: float | None) -> bool:
    return figure is None


Known = Annotated[float, Field(strict=True)]
Figure = Annotated[float | None, Field(strict=True, exclude_if=_is_unknown)]
Count = Annotated[int | None, Field(strict=True, exclude_if=_is_unknown)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSlice:
    """One slice of an instance. One that failed has no figures.

    Unknown figures are left out of the JSON.
    """

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True, allow_inf_nan=False)

    at_s: Known
    """When it began, since the run's start."""
    round: Annotated[int, Field(strict=True)]
    """The round of the race, which gives each contender one slice."""
    rate_per_s: Figure = None
    requests_ok: Count = None
    elapsed_s: Figure = None
    """The time that the rate is of."""
    window_s: Figure = None
    """The time in which the requests that count were sent."""
    paused_s: Figure = None
    """Without any answer and without a request that explains it; left out where there was none."""
    longest_pause_us: Figure = None
    database_cpu_s: Figure = None
    """CPU time of the workload's database."""
    skew_us: Figure = None
    """The load hosts began at most this far apart."""
    client_waited: Annotated[bool, Field(strict=True, exclude_if=lambda waited: not waited)] = False
    """The client waited for its CPU, so the rate is not the server's."""
    witness_per_s: Figure = None
    """The rate of its instance in a load without slices."""

    @property
    def weight(self) -> float:
        """By which mean cycle times of slices are averaged: requests over their window."""
        return (self.requests_ok or 0) / self.window_s if self.window_s else 0.0

    @property
    def counts(self) -> bool:
        """Whether its rate is that of the server: 0 where nothing was sent in the window."""
        is_silent = self.rate_per_s == 0 and bool(self.window_s)
        return (bool(self.rate_per_s) or is_silent) and not self.client_waited


_SLICES = TypeAdapter(Annotated[tuple[StoredSlice, ...], FailFast()])


def slices_json(slices: Sequence[StoredSlice]) -> bytes:
    """As they are stored."""
    return _SLICES.dump_json(tuple(slices))


def slices_of_json(text: bytes) -> tuple[StoredSlice, ...]:
    """What `slices_json` wrote. Raises `ValueError` for what is too large, too deep or no slice."""
    require_bounded(text)
    try:
        return _SLICES.validate_json(text)
    except ValidationError:
        values = parse(text)  # says what is wrong with the JSON
    try:
        return _SLICES.validate_python(values)
    except ValidationError as error:
        raise ValueError(faults_text(error, values)) from error


class PackedSlices(Sequence[StoredSlice]):
    """The slices of one trial, decoded when one is first read. `packed` is the column as stored.

    Reading raises `StoreError` for slices that cannot be decoded.
    """

    def __init__(self, packed: bytes, run_id: str, field_name: str) -> None:
        self.packed = packed
        self._run_id = run_id
        self._field_name = field_name

    @cached_property
    def _slices(self) -> tuple[StoredSlice, ...]:
        return decoded(_unpacked, self.packed, self._run_id, self._field_name)

    @overload
    def __getitem__(self, place: int) -> StoredSlice: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[StoredSlice]: ...
    def __getitem__(self, place: int | slice) -> StoredSlice | Sequence[StoredSlice]:
        return self._slices[place]

    def __len__(self) -> int:
        return len(self._slices)

    def __iter__(self) -> Iterator[StoredSlice]:
        return iter(self._slices)


def _unpacked(packed: bytes) -> tuple[StoredSlice, ...]:
    return slices_of_json(inflate(packed))


@dataclass(frozen=True, slots=True)
class TrialSlices:
    """The slices of one trial, whose contender is that place in a list of names."""

    contender: int
    instance: int
    block: int
    slices: Sequence[StoredSlice]


def columns_of(names: Sequence[str], trials: Sequence[TrialSlices]) -> SliceColumns:
    """The slices of these trials that count, read column by column."""
    every = list(chain.from_iterable(trial.slices for trial in trials))
    lengths = np.array([len(trial.slices) for trial in trials], dtype=np.int64)
    chosen = np.array([each.counts for each in every], dtype=bool)
    used = list(compress(every, chosen))

    def of_trials(values: Sequence[int]) -> Indices:
        of_slices: Indices = np.repeat(np.asarray(values, dtype=np.int64), lengths)[chosen]
        return of_slices

    def figures(values: Sequence[float | None], unknown: float) -> np.ndarray:
        return np.array([unknown if value is None else value for value in values], dtype=float)

    return SliceColumns(
        names=tuple(names),
        contender=of_trials([trial.contender for trial in trials]),
        instance=of_trials([trial.instance for trial in trials]),
        block=of_trials([trial.block for trial in trials]),
        round=np.array([each.round for each in used], dtype=np.int64),
        at_s=np.array([each.at_s for each in used], dtype=float),
        rate_per_s=np.array([each.rate_per_s for each in used], dtype=float),
        weight=np.array([each.weight for each in used], dtype=float),
        witness_per_s=figures([each.witness_per_s for each in used], math.nan),
        window_s=figures([each.window_s for each in used], 0.0),
        paused_s=figures([each.paused_s for each in used], 0.0),
    )
