"""The report as JSON, for a machine."""

import dataclasses
import json
import math
import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal

from pydantic_core import PydanticSerializationError

from deadheat.report.findings.analysis import Analysis, Level, Standing, analyze
from deadheat.report.findings.capacity import CapacityResult, capacities, objective
from deadheat.report.findings.cautions import cautions
from deadheat.report.findings.conclusion import conclusions
from deadheat.report.findings.heading import heading
from deadheat.report.findings.headline import answer, trust
from deadheat.report.findings.limits import limit_of
from deadheat.report.findings.measured import measured
from deadheat.report.findings.method import method
from deadheat.report.findings.next_step import Source
from deadheat.report.findings.pauses import pauses_at
from deadheat.report.findings.points import open_points
from deadheat.report.findings.remaining import Remaining, reasonable_s, remaining
from deadheat.report.findings.scaling import curves
from deadheat.report.formats import document as to
from deadheat.report.formats.document_open import Open
from deadheat.report.formats.document_trial import FailedGate, Latency, Trial
from deadheat.report.formats.json_profile import profile_part
from deadheat.report.formats.json_scaling import scaling
from deadheat.report.model.distribution import QUANTILES, Distribution
from deadheat.report.model.view import (
    Cell,
    ContenderView,
    OfferedCell,
    RunView,
    TrialView,
)
from deadheat.stats.ranking import Pair, Ranking
from deadheat.stats.ratio import RatioInterval
from deadheat.store.rows import StoredInstance

TRIAL_FIELDS = tuple(Trial.model_fields)
TRIAL_VALUES = attrgetter(*TRIAL_FIELDS)
NOT_ASCII = re.compile(r"[^\x00-\x7f]")  # in JSON, only within texts


def write(
    view: RunView,
    analysis: Analysis,
    indent: Literal[2] | None = 2,
    source: Source | None = None,
) -> str:
    """The document, as `docs/schema-report.json` describes it; ASCII, for any output.

    Its commands name the run by `source`; without it, by its id.
    """
    document = build(view, analysis, source or Source.stored(view))
    try:
        text = document.model_dump_json(indent=indent, by_alias=True)
    except PydanticSerializationError:  # half of a surrogate pair, as no run writes it
        plain = document.model_dump(mode="json", by_alias=True)
        text = json.dumps(plain, indent=indent, allow_nan=False)
    if not text.isascii():
        text = NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)
    return text + "\n"


def build(view: RunView, analysis: Analysis, source: Source) -> to.Document:
    calibration = view.calibration
    views = view.by_workload
    analyses = [analysis if len(views) == 1 else analyze(each) for each in views]
    pairs = list(zip(views, analyses, strict=True))
    return to.Document.model_validate(
        {
            "run": _run(view, analysis),
            "hosts": [
                {"role": host.role, "cpus": host.cpus, "fingerprint": host.fingerprint.to_json()}
                for host in view.hosts
            ],
            "contenders": _contenders(views),
            "levels": [
                _level(each, own, level, source) for each, own in pairs for level in own.levels
            ],
            "capacities": [_capacity(view, result) for result in capacities(view)],
            "cautions": _cautions(views),
            "conclusions": [
                dataclasses.asdict(statement) | {"workload": each.workload}
                for each, own in pairs
                for statement in conclusions(each, own)
            ],
            "measured": measured(view, analysis),
            "heading": heading(view, analysis),
            "method": method(view, analysis),
            "calibration": dataclasses.asdict(calibration) if calibration else None,
            "profile": profile_part(view),
            "defects": None
            if view.defects is None
            else [dataclasses.asdict(defect) for defect in view.defects],
            "link_losses": view.link_losses,
        }
    )


def _contenders(views: Sequence[RunView]) -> list[to.Contender]:
    """Contenders, then controls, each once with what it did on all workloads."""
    parts: dict[str, list[tuple[RunView, ContenderView]]] = {}
    for contenders in ("contenders", "controls"):
        for view in views:
            for each in getattr(view, contenders):
                parts.setdefault(each.name, []).append((view, each))
    return [_contender(of_one) for of_one in parts.values()]


def _cautions(views: Sequence[RunView]) -> list[dict[str, Any]]:
    """A caution that every workload has is one about all of them."""
    by_view = [list(map(dataclasses.asdict, cautions(view))) for view in views]
    common = [c for c in by_view[0] if all(c in others for others in by_view[1:])]
    return [caution | {"workload": None} for caution in common] + [
        caution | {"workload": view.workload}
        for view, own in zip(views, by_view, strict=True)
        for caution in own
        if caution not in common
    ]


def _run(view: RunView, analysis: Analysis) -> to.Run:
    return to.Run.model_validate(
        {
            "id": view.run_id,
            "state": view.state,
            "why": view.conclusion.why,
            "started_at": view.started_at,
            "ended_at": view.ended_at,
            "elapsed_s": view.elapsed_s,
            "race_s": view.race_s,
            "protocol": view.protocol.model_dump(mode="json"),
            "command": view.command,
            "seed": view.seed,
            "deadheat_version": view.deadheat_version,
            "generator_version": view.generator_version,
            "blocks": analysis.blocks,
            "invocations": analysis.invocations,
            "trials": view.trials,
            "workloads": view.workloads,
            "reasonable_s": reasonable_s(view),
            "measured_share": analysis.measured_share,
            "series_trials_max": view.series_trials_max,
        }
    )


def _contender(parts: Sequence[tuple[RunView, ContenderView]]) -> to.Contender:
    """`parts` are what it did on each workload."""
    _, contender = parts[0]
    identity = ("name", "server", "setting", "label", "role", "language", "framework", "version")
    more = ("kind", "workers", "threads", "fault", "homepage", "notes")
    return to.Contender.model_validate(
        {name: getattr(contender, name) for name in (*identity, *more)}
        | {
            "published": [dataclasses.asdict(row) for row in contender.published],
            "build": dataclasses.asdict(contender.build) if contender.build else None,
            "raw_output": dataclasses.asdict(contender.raw_output)
            if contender.raw_output
            else None,
            "starts": [_start(start) for start in contender.starts],
            "levels": [_cell(view, c, cell) for view, c in parts for cell in c.cells.values()],
            "offered": [_offered(view, cell) for view, c in parts for cell in c.offered],
            "recoveries": [dataclasses.asdict(recovery) for recovery in contender.recoveries],
        }
    )


def _start(start: StoredInstance) -> to.Start:
    return to.Start.model_validate({name: getattr(start, name) for name in to.Start.model_fields})


def _cell(view: RunView, contender: ContenderView, cell: Cell) -> to.Cell:
    slowest, fastest = cell.spread_per_s or (None, None)
    return to.Cell(
        workload=view.workload,
        connections=cell.connections,
        aggregate=view.aggregate,
        rate_per_s=cell.rate_per_s(view.aggregate),
        rate_per_s_min=slowest,
        rate_per_s_max=fastest,
        doubtful=cell.doubtful,
        trials_valid=len(cell.valid),
        service=_latency(cell.service),
        first_byte=_latency(cell.first_byte),
        server_cpu_us_per_request=cell.server_cpu_us_per_request,
        server_cpus_used=cell.server_cpus_used,
        database_cpu_us_per_request=cell.database_cpu_us_per_request,
        limit=limit_of(view, contender, cell),
        memory_peak_bytes=cell.memory_peak_bytes,
        errors=dict(cell.errors),
        trials=tuple(_trial(trial) for trial in cell.trials),
    )


def _offered(view: RunView, cell: OfferedCell) -> to.Offered:
    return to.Offered(
        kind=cell.kind,
        workload=view.workload,
        connections=cell.connections,
        offered_rate_per_s=cell.offered_rate_per_s,
        achieved_rate_per_s=cell.achieved_rate_per_s,
        trials_valid=cell.trials_valid,
        response=_latency(cell.response),
        first_byte=_latency(cell.first_byte),
        trials=tuple(_trial(trial) for trial in cell.trials),
    )


def _trial(trial: TrialView) -> Trial:
    values = dict(zip(TRIAL_FIELDS, TRIAL_VALUES(trial), strict=True))
    values["slices"] = tuple(trial.slices) if trial.with_series else ()
    values["gates_failed"] = [
        {name: getattr(gate, name) for name in FailedGate.model_fields}
        for gate in trial.gates_failed
    ]
    return Trial.model_validate(values)


def _latency(distribution: Distribution) -> Latency:
    quantiles = {f"{name}_us": distribution[name] for name in QUANTILES}
    return Latency(
        requests=distribution.requests,
        merged=distribution.merged,
        mean_us=distribution.mean_us,
        max_us=distribution.max_us,
        curve=distribution.curve,
        **quantiles,
    )


def _capacity(view: RunView, result: CapacityResult) -> to.Capacity:
    return to.Capacity(
        **result.capacity.model_dump(),
        slo=objective(view),
        rate_per_s_per_cpu=result.rate_per_s_per_cpu,
        rate_per_s_per_100_mib=result.rate_per_s_per_100_mib,
        server_cpu_us_per_request=result.server_cpu_us_per_request,
        memory_peak_bytes=result.memory_peak_bytes,
        disturbed=result.disturbed,
    )


def _level(view: RunView, analysis: Analysis, level: Level, source: Source) -> to.Level:
    ranking = level.ranking
    return to.Level(
        workload=view.workload,
        connections=level.connections,
        answer=answer(view, level),
        trust=trust(view, analysis, level),
        settled=ranking is not None and ranking.settled,
        confidence=ranking.level.confidence if ranking else None,
        margin=ranking.margin if ranking else None,
        minimum_detectable_effect=_finite(ranking.minimum_detectable_effect) if ranking else None,
        method=ranking.pairs[0].ratio.method if ranking and ranking.pairs else None,
        standings=tuple(_standing(view, level, standing) for standing in level.standings),
        pairs=_pairs(view, analysis, ranking) if ranking else (),
        open=tuple(
            Open(text=point.text, figures=point.figures, command=point.command)
            for point in (open_points(view, analysis, level, source) if view.races else ())
        ),
        scaling=tuple(scaling(view, curve) for curve in curves(view, level)),
    )


def _standing(view: RunView, level: Level, standing: Standing) -> to.Standing:
    row = standing.row
    pauses = pauses_at(view, level).get(standing.contender.name)
    return to.Standing(
        name=standing.contender.name,
        rank_low=row.rank_low if row and standing.ranked else None,
        rank_high=row.rank_high if row and standing.ranked else None,
        group=row.group if row and standing.ranked else None,
        ratio_to_leader=_ratio(standing.ratio_to_leader) if standing.ratio_to_leader else None,
        reason=standing.reason,
        pauses=to.Pauses(longest_us=pauses.longest_us, share=pauses.share, text=pauses.text)
        if pauses
        else None,
    )


def _pairs(view: RunView, analysis: Analysis, ranking: Ranking) -> tuple[to.Pair, ...]:
    neighbors = set(ranking.neighbors)
    return tuple(
        _pair(pair, pair in neighbors, remaining(view, analysis, pair)) for pair in ranking.pairs
    )


def _pair(pair: Pair, neighbors: bool, needs: Remaining) -> to.Pair:
    return to.Pair(
        faster=pair.faster,
        slower=pair.slower,
        neighbors=neighbors,
        verdict=pair.verdict.value,
        ratio=_ratio(pair.ratio),
        probability_faster=_finite(pair.probability_faster),
        extra_blocks=pair.effort.extra_blocks if pair.effort else None,
        extra_invocations=pair.effort.extra_invocations if pair.effort else None,
        decided_after_s=needs.time_s,
        least_difference=needs.least,
    )


def _ratio(ratio: RatioInterval) -> to.Ratio | None:
    if math.isnan(ratio.ratio):
        return None
    known = math.isfinite(ratio.high)
    return to.Ratio(
        ratio=ratio.ratio,
        low=ratio.low if known else None,
        high=ratio.high if known else None,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
