"""An audit: the case, its defects, the use of the machine, and a second replay to compare with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deadheat.audit.beside import Case, RowAgreement, between_replays
from deadheat.audit.defects import find_defects
from deadheat.audit.placement import Placement, placement_of
from deadheat.audit.replay import Replay, load_replay
from deadheat.catalog import find_root, layered
from deadheat.errors import DeadheatError
from deadheat.host.cpu_time import TICK_S
from deadheat.protocol.figures import PublishedFigures, read_figures, shipped_figures
from deadheat.report.model.evidence import Defect
from deadheat.report.model.view import RunView
from deadheat.store import Store
from deadheat.store.reading import trial_series

STEP_S = 1.0
IDLE, IOWAIT = 3, 4  # of a CPU's counters, see `Sample.cpu_ticks`


@dataclass(frozen=True, slots=True)
class Second:
    """The machine over one step. `busy` maps a CPU to its share in use, 0 to 1."""

    at_s: float  # since the first sample
    busy: Mapping[int, float]
    memory_bytes: int | None  # of the server
    memory_available_bytes: int


def fold(samples: Sequence[Mapping[str, Any]]) -> tuple[Second, ...]:
    """Stored samples as steps of about a second; the last step may be shorter."""
    seconds = []
    before = samples[0] if samples else {}
    for sample in samples[1:]:
        last = sample is samples[-1]
        if sample["at_s"] - before["at_s"] < STEP_S - 0.01 and not last:
            continue
        if sample["at_s"] > before["at_s"]:
            seconds.append(_second(samples[0]["at_s"], before, sample))
        before = sample
    return tuple(seconds)


def mean_busy(seconds: Sequence[Second]) -> dict[int, float]:
    """The mean share in use of each CPU, over steps of any length."""
    cpus = sorted({cpu for second in seconds for cpu in second.busy})
    return {cpu: sum(each.busy.get(cpu, 0.0) for each in seconds) / len(seconds) for cpu in cpus}


def _second(begun_s: float, first: Mapping[str, Any], last: Mapping[str, Any]) -> Second:
    elapsed_s = last["at_s"] - first["at_s"]
    busy = {}
    for cpu, ticks in last["cpu_ticks"].items():
        if cpu in first["cpu_ticks"]:
            spent = [now - then for now, then in zip(ticks, first["cpu_ticks"][cpu], strict=True)]
            in_use_s = (sum(spent) - spent[IDLE] - spent[IOWAIT]) * TICK_S
            busy[int(cpu)] = min(1.0, in_use_s / elapsed_s)
    usages = last["usage"].values()
    return Second(
        at_s=last["at_s"] - begun_s,
        busy=busy,
        memory_bytes=sum(usage["memory_bytes"] for usage in usages) if usages else None,
        memory_available_bytes=last["memory_available_bytes"],
    )


@dataclass(frozen=True, slots=True)
class MachineUse:
    """CPU use and memory during the fastest repetition of a row at a level."""

    row: str
    connections: int
    seconds: tuple[Second, ...]
    memory_peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Audit:
    """The results, which every format shows."""

    case: Case
    defects: tuple[Defect, ...]
    machine_use: tuple[MachineUse, ...]
    against: str | None = None  # the other replay's run id
    replays_agree: Mapping[int, RowAgreement | None] = field(default_factory=dict)
    placement: Placement | None = None


def audit(
    store: Store,
    replay: Replay,
    figures: PublishedFigures,
    repetitions: PublishedFigures | None = None,
    other: Replay | None = None,
    elsewhere: Replay | None = None,
) -> Audit:
    """Compare a stored replay with published figures.

    `other` is a replay to compare with; `elsewhere` is one whose client was on another host, or on
    the same if that of `replay` was not.
    """
    case = Case(replay, figures, repetitions)
    return Audit(
        case=case,
        defects=find_defects(case),
        machine_use=tuple(_machine_use(store, case)),
        against=other.run_id if other else None,
        replays_agree=between_replays(replay, other) if other else {},
        placement=placement_of(replay, elsewhere),
    )


def _machine_use(store: Store, case: Case) -> Iterator[MachineUse]:
    for row, contender in case.running.items():
        for connections in case.replay.protocol.connections:
            rated = [trial for trial in contender.at(connections) if trial.rate_per_s]
            if rated:
                best = max(rated, key=lambda trial: trial.rate_per_s or 0.0)
                seconds = fold(trial_series(store, best.id, "machine"))
                yield MachineUse(row, connections, seconds, best.memory_peak_bytes)


def published(root: Path, name: str) -> tuple[PublishedFigures, PublishedFigures | None]:
    """The figures of a comparison, and the single repetitions if they are published too."""
    return shipped_figures(root, name), figures_if_any(root, f"{name}-repetitions")


def figures_if_any(root: Path, name: str) -> PublishedFigures | None:
    """The figures of `published/NAME.csv`, None if the catalog has no such file."""
    path = layered(root, f"published/{name}.csv")
    return read_figures(path) if path.is_file() else None


def with_defects(store: Store, view: RunView) -> RunView:
    """The same view with `defects`, if it is a replay whose published figures are here.

    `deadheat audit` says why if they cannot be read; a report of the run works without them.
    """
    if view.protocol.origin is None:
        return view
    try:
        replay = load_replay(store, view.run_id)
        if not view.trials:
            return view
        case = Case(replay, *published(find_root(), view.protocol.origin.figures))
    except DeadheatError:
        return view
    return replace(view, defects=find_defects(case))
