"""Combines the runs of a cluster: one model for each level, over all pairs of hosts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deadheat.cluster.record import ClusterRecord, RunRecord
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import reading
from deadheat.report.model.sliced import SlicedLevel
from deadheat.report.model.view import RunView
from deadheat.stats.host_pair_ranking import host_pair_speeds, rank_over_host_pairs
from deadheat.stats.host_pairs import HostPairFit, HostPairRun, fit_host_pairs
from deadheat.stats.ranking import Ranking
from deadheat.stats.ratio import RatioInterval
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids

LevelKey = tuple[str, int]  # workload and connections


@dataclass(frozen=True, slots=True)
class PairSpeed:
    """A pair of hosts at one level: its speed over that of the first one in the list."""

    number: int
    runs: int
    ratio: RatioInterval


@dataclass(frozen=True, slots=True)
class CombinedLevel:
    """One level over all pairs of hosts.

    `pairs_of` has the numbers of the pairs on which each contender ran and counts. `limited` names
    contenders that outran the client on some pair; these rates are left out.
    """

    workload: str
    connections: int
    ranking: Ranking
    speeds: tuple[PairSpeed, ...]
    fit: HostPairFit
    pairs_of: Mapping[str, tuple[int, ...]]
    limited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Combined:
    """A cluster run as it is reported; `faults` say why a server cannot be compared."""

    record: ClusterRecord
    levels: tuple[CombinedLevel, ...]
    faults: Mapping[str, str]


def combine(folder: Path, record: ClusterRecord) -> Combined:
    """Read the bundles that count, and fit them. Raises `DeadheatError` for one it cannot read."""
    views = [
        (run, view)
        for run in record.runs
        if run.counts and run.bundle is not None
        for view in _views(folder / run.bundle)
    ]
    levels: dict[LevelKey, list[tuple[RunRecord, RunView, SlicedLevel]]] = {}
    for run, view in views:
        for connections, sliced in view.sliced.items():
            levels.setdefault((view.workload, connections), []).append((run, view, sliced))
    combined = (_level(record, key, parts) for key, parts in sorted(levels.items()))
    faults = {
        contender.name: contender.fault
        for _, view in views
        for contender in view.contenders
        if contender.fault
    }
    return Combined(record, tuple(level for level in combined if level is not None), faults)


def measured_names(bundle: Path) -> set[str]:
    """The contenders with an interval at every level of the run in a bundle."""
    linked_at = [
        _linked_names(sliced, view.client_gates.get(connections, {}))
        for view in _views(bundle)
        for connections, sliced in view.sliced.items()
    ]
    return set.intersection(*linked_at) if linked_at else set()


def _linked_names(sliced: SlicedLevel, limited: Collection[str]) -> set[str]:
    places = {name: place for place, name in enumerate(sliced.names)}
    linked = _pair_run(0, sliced, places, limited).linked().contender
    return {sliced.names[place] for place in linked} if len(linked) > 1 else set()


def _views(bundle: Path) -> tuple[RunView, ...]:
    """The run of a bundle, once for each workload."""
    with open_bundle(bundle) as store, reading(bundle):
        return tuple(load_view(store, run_ids(store)[0]).by_workload)


def _level(
    record: ClusterRecord, key: LevelKey, parts: Sequence[tuple[RunRecord, RunView, SlicedLevel]]
) -> CombinedLevel | None:
    names = tuple(dict.fromkeys(name for _, _, sliced in parts for name in sliced.names))
    places = {name: place for place, name in enumerate(names)}
    pairs = tuple(sorted({run.pair for run, _, _ in parts}))
    runs = [
        _pair_run(pairs.index(run.pair), sliced, places, _limited(view, key))
        for run, view, sliced in parts
    ]
    fit = fit_host_pairs(runs, len(names), len(pairs))
    if fit is None:
        return None
    controls = {control.name for _, view, _ in parts for control in view.controls}
    ranking = rank_over_host_pairs(
        fit, names, margin=record.margin, confidence=record.confidence, controls=controls
    )
    ratios = host_pair_speeds(fit, record.confidence)
    speeds = tuple(
        PairSpeed(number, sum(run.pair == number for run, _, _ in parts), ratio)
        for number, ratio in zip(pairs, ratios, strict=True)
    )
    return CombinedLevel(
        workload=key[0],
        connections=key[1],
        ranking=ranking,
        speeds=speeds,
        fit=fit,
        pairs_of={name: tuple(sorted(set(_pairs_of(name, parts)))) for name in names},
        limited=tuple(sorted({name for _, view, _ in parts for name in _limited(view, key)})),
    )


def _pairs_of(name: str, parts: Sequence[tuple[RunRecord, RunView, SlicedLevel]]) -> Iterator[int]:
    return (run.pair for run, _, sliced in parts if name in sliced.names)


def _limited(view: RunView, key: LevelKey) -> Collection[str]:
    """The contenders that outran the client at a level."""
    return view.client_gates.get(key[1], {})


def _pair_run(
    host_pair: int, sliced: SlicedLevel, places: Mapping[str, int], limited: Collection[str]
) -> HostPairRun:
    """A run's model, without contenders that outran the client."""
    kept = [n for n, name in enumerate(sliced.names) if name not in limited]
    chosen = np.array(kept, dtype=np.int64)
    estimate = sliced.fit.estimate
    square = np.ix_(chosen, chosen)
    return HostPairRun(
        host_pair=host_pair,
        contender=np.array([places[sliced.names[n]] for n in kept], dtype=np.int64),
        log_rate=estimate.log_rate[chosen],
        variance=estimate.variance[square],
        degrees_of_freedom=estimate.degrees_of_freedom[square],
    )
