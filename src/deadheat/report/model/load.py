"""`load_view`: a stored run as a report shows it."""

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace

from deadheat.campaign.explain import EXPLAIN
from deadheat.campaign.past import AFTER_THE_RACE
from deadheat.campaign.trials import HALF_LOAD
from deadheat.catalog.manifest import TRANSPORTS, ended_support
from deadheat.errors import StoreError
from deadheat.host.doctor import host_key
from deadheat.load.engine import HANDSHAKE
from deadheat.report.model.evidence import (
    LinkLosses,
    RawOutput,
    build_of,
    middle_trial,
    published_rows,
    raw_output,
    recoveries,
)
from deadheat.report.model.facts import Facts, grouped, place_in_load, with_client_limits
from deadheat.report.model.kept import Kept
from deadheat.report.model.series import Distribution
from deadheat.report.model.slice_fit import with_model
from deadheat.report.model.view import Cell, ContenderView, OfferedCell, RunView, TrialView
from deadheat.store import Store, StoredRun, read_run
from deadheat.store.json_columns import Explained
from deadheat.store.rows import (
    STACKS,
    StoredCalibration,
    StoredContender,
    StoredInstance,
    StoredTrial,
)
from deadheat.workload import parts_of

WORKLOADS_MAX = 40
SKEW = "skew_us"
SERIES_TRIALS_MAX = 60  # of a contender at a level
SERIES_TRIALS_IN_ALL = 1_200  # of a run with more trials than this
SERIES_TRIALS_MIN = 10  # of a contender at a level, also of a run with many


def load_view(
    store: Store,
    run_id: str,
    *,
    whole: bool = False,
    series_trials_max: int | None = SERIES_TRIALS_MAX,
) -> RunView:
    """The run of that id, in any state. Raises `StoreError` if there is none.

    `whole` adds what only the page and JSON show, and what takes the longest to read: series,
    time to first byte, builds, and the output of the load generator. Series are those of at most
    `series_trials_max` trials of a contender at a level, evenly over the race, and of fewer in a
    run of more than `SERIES_TRIALS_IN_ALL` trials; None: of all trials.
    """
    return load_view_of(read_run(store, run_id), whole=whole, series_trials_max=series_trials_max)


def load_view_of(
    run: StoredRun, *, whole: bool = False, series_trials_max: int | None = SERIES_TRIALS_MAX
) -> RunView:
    """The view of a run that is read already; see `load_view`."""
    kept = Kept.of(run)
    facts = Facts(run, whole, _series_trials_max(run, series_trials_max), kept)
    view = with_model(with_client_limits(_view(facts)), kept)
    kept.save()
    return view


def _view(facts: Facts) -> RunView:
    """The view of a stored run, without the model."""
    run = facts.run
    workloads = _workloads(run)
    first, *later = [_on(name, facts) for name in workloads]
    return replace(
        first,
        workloads=workloads,
        later=tuple(later),
        protocol=run.protocol,
        link_losses=LinkLosses.of(run),
    )


def _workloads(run: StoredRun) -> tuple[str, ...]:
    """The protocol's workloads in its order, then any other that was measured."""
    measured = sorted({trial.workload for trial in run.trials})
    names = tuple(dict.fromkeys([*run.protocol.workload_names, *measured]))
    if len(names) > WORKLOADS_MAX:  # only in a file that was not written by a run
        raise StoreError(f"run {run.id}: expected at most {WORKLOADS_MAX} workloads")
    return names


def _on(workload: str, facts: Facts) -> RunView:
    """What a run measured on one workload."""
    run = facts.run
    trials = [trial for trial in run.trials if trial.workload == workload]
    contenders = _contenders(trials, workload, facts)
    return RunView(
        run_id=run.id,
        started_at=run.started_at,
        ended_at=run.ended_at,
        state=run.state,
        last_trial_at_s=max(
            (trial.at_s for trial in run.trials if trial.kind not in AFTER_THE_RACE), default=None
        ),
        protocol=run.protocol.only(workload),
        command=run.command,
        seed=run.seed,
        deadheat_version=run.deadheat_version,
        generator_version=run.generator_version,
        conclusion=run.conclusion,
        hosts=run.hosts,
        levels=_levels(run, trials),
        contenders=tuple(each for each in contenders if each.role != "control"),
        controls=tuple(each for each in contenders if each.role == "control"),
        gates=run.gate_codes,
        calibration=_calibration(run),
        series_trials_max=facts.series_trials_max,
        skew_us_max=max(filter(None, map(_skew_us, run.trials)), default=None),
        workload=workload,
        workloads=(workload,),
    )


def _skew_us(trial: StoredTrial) -> float | None:
    """Few runs have several load hosts, and reading all results would take long."""
    return trial.result.skew_us if SKEW in (trial.result_json or "") else None


def _series_trials_max(run: StoredRun, asked: int | None) -> int | None:
    """How many trials of a contender at a level have series in a run of this size."""
    if asked is None or len(run.trials) <= SERIES_TRIALS_IN_ALL:
        return asked
    cells = len({place_in_load(trial) for trial in run.trials})
    return min(asked, max(SERIES_TRIALS_IN_ALL // cells, SERIES_TRIALS_MIN))


def _levels(run: StoredRun, trials: Sequence[StoredTrial]) -> tuple[int, ...]:
    """The protocol's connections in its order, then any others that were measured."""
    measured = {trial.connections for trial in trials if trial.kind == "measure"}
    return tuple(dict.fromkeys([*run.protocol.connections, *sorted(measured)]))


def _contenders(
    of_workload: Sequence[StoredTrial], workload: str, facts: Facts
) -> list[ContenderView]:
    """Those that answer the workload over its transport, as far as their manifests say.

    They have their names without it: a contender is one for each transport.
    """
    run = facts.run
    name, transport = parts_of(workload)
    trials = grouped(of_workload, lambda trial: trial.contender_id)
    outputs = _outputs(run, trials) if facts.whole else {}
    builds = {key: build_of(build) for key, build in run.builds.items()} if facts.whole else {}
    instances = grouped(run.instances, lambda instance: instance.contender_id)
    return [
        ContenderView(
            name=parts_of(row.name)[0],
            server=parts_of(row.server)[0],
            setting="default" if row.setting in TRANSPORTS else row.setting,
            label=row.label,
            role=row.role,
            workers=row.workers,
            threads=row.threads,
            version=row.version,
            language=row.manifest.language,
            framework=row.manifest.framework,
            kind=row.manifest.kind,
            fault=row.fault or _workload_fault(row, instances[row.id], workload),
            starts=tuple(_warmed_on(each, workload) for each in instances[row.id]),
            cells=_cells(trials[row.id], facts, workload),
            offered=_offered(trials[row.id], facts),
            homepage=row.manifest.homepage,
            notes=_notes(row),
            ended=_ended(row, run.started_at.date()),
            published=published_rows(row.manifest.published),
            build=builds.get(row.build_id) if row.build_id is not None else None,
            raw_output=outputs.get(row.id),
            recoveries=recoveries(trials[row.id]),
            explained=_explained(trials[row.id]),
            stacks=_stacks(run, trials[row.id]),
            half_load_cpu_us_per_request=_half_load_cpu_us(trials[row.id]),
        )
        for row in run.contenders
        if trials[row.id]
        or (
            parts_of(row.name)[1] == transport
            and (row.role == "control" or name in _answered(row, name))
        )
    ]


def _explained(trials: Sequence[StoredTrial]) -> Explained | None:
    """What the last trial of `deadheat explain` counted; None without one."""
    counted = [trial for trial in trials if trial.kind == EXPLAIN]
    return counted[-1].result.explained if counted else None


def _stacks(run: StoredRun, trials: Sequence[StoredTrial]) -> dict[str, int]:
    """The stacks that it sampled."""
    last = [trial.id for trial in trials if trial.kind == EXPLAIN][-1:]
    sampled = run.series(STACKS, trial_ids=last) if last else ()
    pairs = (pair for _, series in sampled for pair in series[STACKS])
    return {stack: samples for stack, samples in pairs if isinstance(stack, str)}


def _answered(contender: StoredContender, workload: str) -> Sequence[str]:
    """The workloads of its manifest; the user's own servers answer each."""
    return (workload,) if contender.manifest.language is None else contender.manifest.answered


def _workload_fault(
    contender: StoredContender, instances: Sequence[StoredInstance], workload: str
) -> str | None:
    """Why a contender was left out of a workload; None if it was not."""
    faults = [
        each.workload_faults[workload] for each in instances if workload in each.workload_faults
    ]
    return f"{contender.name} is left out: {faults[0]}" if faults else None


def _warmed_on(instance: StoredInstance, workload: str) -> StoredInstance:
    """The instance with its warm-up on this workload."""
    later = instance.steady.later if instance.steady else {}
    return replace(instance, steady=later[workload]) if workload in later else instance


def _notes(contender: StoredContender) -> tuple[str, ...]:
    """The manifest's notes, and what its recipe was verified against if not as it stands."""
    manifest = contender.manifest
    tried = [f"a recipe, verified against {manifest.verified}"] if manifest.verified else []
    return (*manifest.notes, *tried)


def _ended(contender: StoredContender, at: datetime.date) -> dict[str, str]:
    with contextlib.suppress(AttributeError, TypeError, ValueError):  # of a foreign bundle
        return ended_support(contender.manifest.support, contender.version, at)
    return {}


def _outputs(run: StoredRun, trials: Mapping[int, Sequence[StoredTrial]]) -> dict[int, RawOutput]:
    """The output of one trial of each contender, by the contender's id."""
    chosen = {key: trial for key, group in trials.items() if (trial := middle_trial(group))}
    outputs = run.outputs([trial.id for trial in chosen.values()])
    return {key: raw_output(trial, outputs[trial.id]) for key, trial in chosen.items()}


def _cells(trials: Sequence[StoredTrial], facts: Facts, workload: str) -> dict[int, Cell]:
    """The closed-loop trials by level."""
    protocol = facts.run.protocol
    kept = protocol.only(workload).keep_alive
    measured = [trial for trial in trials if trial.kind == "measure"]
    cells = {}
    for connections, group in grouped(measured, lambda trial: trial.connections).items():
        views = tuple(map(facts.trial, group))
        counted = _counted(group, views)
        cells[connections] = Cell(
            connections=connections,
            trials=views,
            service=facts.distribution(counted, "service_us"),
            first_byte=facts.distribution(counted, "first_byte_us"),
            handshake=Distribution() if kept else facts.distribution(counted, HANDSHAKE),
            service_us_p99_by_start=(
                facts.p99s_by_start(counted) if len(protocol.transports) > 1 else ()
            ),
        )
    return cells


def _offered(trials: Sequence[StoredTrial], facts: Facts) -> tuple[OfferedCell, ...]:
    """The open-loop trials by kind, level and offered rate."""
    groups = grouped(
        (t for t in trials if t.offered_rate_per_s and t.kind != HALF_LOAD),
        lambda trial: (trial.kind, trial.connections, trial.offered_rate_per_s or 0.0),
    )
    cells = []
    for (kind, connections, offered_rate_per_s), group in sorted(groups.items()):
        views = tuple(map(facts.trial, group))
        counted = _counted(group, views)
        elapsed_s = sum(trial.elapsed_s or 0 for trial in counted)
        requests = sum(trial.requests_ok or 0 for trial in counted)
        cells.append(
            OfferedCell(
                kind=kind,
                connections=connections,
                offered_rate_per_s=offered_rate_per_s,
                achieved_rate_per_s=requests / elapsed_s if elapsed_s else None,
                trials=views,
                response=facts.distribution(counted, "response_us"),
                first_byte=facts.distribution(counted, "first_byte_us"),
            )
        )
    return tuple(cells)


def _half_load_cpu_us(trials: Sequence[StoredTrial]) -> float | None:
    """CPU time per request at half the contender's rate: the least of its trials; None without."""
    half = [t.server_cpu_us_per_request for t in trials if t.kind == HALF_LOAD and t.state == "ok"]
    return min((us for us in half if us is not None), default=None)


def _counted(trials: Sequence[StoredTrial], views: Sequence[TrialView]) -> list[StoredTrial]:
    """The valid trials; if there are none, the measured ones (as in `Cell`)."""
    pairs = list(zip(trials, views, strict=True))
    valid = [trial for trial, view in pairs if view.valid]
    return valid or [trial for trial, view in pairs if view.measured]


def _calibration(run: StoredRun) -> StoredCalibration | None:
    """The newest calibration of a machine like the run's server host."""
    servers = [host for host in run.hosts if host.role == "server"]
    return run.calibration(host_key(servers[0].fingerprint)) if servers else None
