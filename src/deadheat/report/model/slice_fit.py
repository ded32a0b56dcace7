"""Fits the model of a race in slices."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from deadheat.catalog.manifest import TRANSPORTS
from deadheat.protocol import SliceProtocol
from deadheat.report.model.facts import grouped
from deadheat.report.model.kept import Kept, digest
from deadheat.report.model.sliced import AllSlices, SlicedLevel
from deadheat.report.model.view import ContenderView, RunView, TrialView
from deadheat.stats.model.counted_slices import count_slices, slices_of
from deadheat.stats.model.slice_model import fit_slices
from deadheat.stats.model.slices import SliceColumns, modeled_names
from deadheat.store.slices import PackedSlices, StoredSlice, TrialSlices, columns_of, slices_json
from deadheat.workload import parts_of


def with_model(view: RunView, kept: Kept) -> RunView:
    """The view with the model of each level, and the model's rates in its cells.

    A run without slices stays as it is. Models are looked up in `kept`, and added to it.
    """
    if not isinstance(view.protocol, SliceProtocol):
        return view
    first_of = {other.workload: first for first, other in beside_first_transport(view.by_workload)}
    later = tuple(_with_own_model(each, first_of, kept) for each in view.later)
    return replace(_with_own_model(view, first_of, kept), later=later)


def beside_first_transport(parts: Sequence[RunView]) -> Iterator[tuple[RunView, RunView]]:
    """Each workload over its first transport, and the same over another one."""
    for views in grouped(parts, lambda part: parts_of(part.workload)[0]).values():
        first, *others = sorted(views, key=lambda v: TRANSPORTS.index(parts_of(v.workload)[1]))
        for other in others:
            yield first, other


def _with_own_model(view: RunView, first_of: Mapping[str, RunView], kept: Kept) -> RunView:
    first = first_of.get(view.workload)
    sliced = {
        connections: level
        for connections in view.levels
        if (level := sliced_level(view, connections, kept, first)) is not None
    }

    def with_rates(contender: ContenderView) -> ContenderView:
        cells = {
            connections: replace(
                cell, model_rate_per_s=sliced[connections].rate_per_s(contender.name)
            )
            if connections in sliced
            else cell
            for connections, cell in contender.cells.items()
        }
        return replace(contender, cells=cells)

    return replace(
        view,
        sliced=sliced,
        contenders=tuple(map(with_rates, view.contenders)),
        controls=tuple(map(with_rates, view.controls)),
    )


def sliced_level(
    view: RunView, connections: int, kept: Kept, first: RunView | None = None
) -> SlicedLevel | None:
    """The model of one level, and that of this and the first transport; None without a slice."""
    trials = _valid_trials(view, connections)
    controls = [control.name for control in view.controls]
    slices = _all_slices(trials, controls, kept)
    if slices is None:
        return None
    if first is None:
        return SlicedLevel(slices)
    both = {
        over_transport(part.workload, name): own
        for part in (first, view)
        for name, own in _valid_trials(part, connections).items()
        if name not in controls
    }
    return SlicedLevel(slices, _all_slices(both, [], kept))


def over_transport(workload: str, name: str) -> str:
    """A contender in a model of two transports."""
    return f"{name} {workload}"


def _valid_trials(view: RunView, connections: int) -> dict[str, Sequence[TrialView]]:
    everyone = (*view.contenders, *view.controls)
    return {c.name: c.cells[connections].valid for c in everyone if connections in c.cells}


def _all_slices(
    trials: Mapping[str, Sequence[TrialView]], controls: Sequence[str], kept: Kept
) -> AllSlices | None:
    """What the slices of these trials of each contender show; None where no slice counts."""
    key = _key(trials, controls) if kept.keeps else ""
    text = kept.get(key)
    if text is not None:
        return AllSlices.of_text(text)
    slices = _worked_out(trials, controls)
    if slices is not None and kept.keeps:
        kept.put(key, slices.to_text())
    return slices


def _worked_out(
    trials: Mapping[str, Sequence[TrialView]], controls: Sequence[str]
) -> AllSlices | None:
    counted = count_slices(_columns(trials))
    contenders = [name for name in trials if name not in controls]
    names = tuple(modeled_names(counted.slices, contenders, controls))
    if not names:
        return None
    every = [trial for own in trials.values() for trial in own]
    return AllSlices(
        names=names,
        fit=fit_slices(slices_of(counted, names)),
        settlings=tuple(
            (counted.owners[instance], finding) for instance, finding in counted.settlings.items()
        ),
        waits={name: waits(own) for name, own in trials.items()},
        ended_at_s=max(map(ended_at_s, every)),
    )


def _columns(trials: Mapping[str, Sequence[TrialView]]) -> SliceColumns:
    return columns_of(
        tuple(trials),
        [
            TrialSlices(place, trial.instance_id or 0, trial.block, trial.slices)
            for place, own in enumerate(trials.values())
            for trial in own
        ],
    )


def _key(trials: Mapping[str, Sequence[TrialView]], controls: Sequence[str]) -> str:
    """The digest of all that `_worked_out` reads. Ids of instances count by their order only."""
    every = [(name, trial) for name, own in trials.items() for trial in own]
    ids = sorted({trial.instance_id or 0 for _, trial in every})
    order = {instance_id: place for place, instance_id in enumerate(ids)}
    read = [
        [name, order[trial.instance_id or 0], trial.block, trial.at_s, trial.elapsed_s]
        for name, trial in every
    ]
    packed = (_packed(trial.slices) for _, trial in every)
    return digest(chain(["slices", json.dumps([[*trials], controls, read])], packed))


def _packed(slices: Sequence[StoredSlice]) -> bytes:
    return slices.packed if isinstance(slices, PackedSlices) else slices_json(slices)


def waits(trials: Sequence[TrialView]) -> tuple[int, int]:
    """The slices in which the client waited for its CPU, and all slices."""
    slices = [each for trial in trials for each in trial.slices]
    return sum([each.client_waited for each in slices]), len(slices)


def ended_at_s(trial: TrialView) -> float:
    """When a trial ended, since the run's start: its last slice, if it has slices."""
    last = max([each.at_s + (each.elapsed_s or 0.0) for each in trial.slices], default=0.0)
    return max(last, trial.at_s + (0.0 if trial.slices else trial.elapsed_s or 0.0))
