"""The report as JSON, for a machine."""

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic_core import PydanticSerializationError

from deadheat.report.findings.analysis import Analysis, LevelAnalysis, Standing, analyze
from deadheat.report.findings.cautions import cautions
from deadheat.report.findings.common_rate import (
    WORDS,
    CapacityResult,
    Measure,
    RateStanding,
    capacities,
    objective,
    rate_levels,
)
from deadheat.report.findings.conclusion import answer, conclusions, trust
from deadheat.report.findings.footprint import footprint
from deadheat.report.findings.heading import heading, measured, method
from deadheat.report.findings.next_step import reasonable_s, remaining
from deadheat.report.findings.pauses import pauses_at
from deadheat.report.findings.points import open_points
from deadheat.report.findings.precision import limit_of
from deadheat.report.findings.profile import profile
from deadheat.report.findings.scaling import Curve, curves, scaling_sentences
from deadheat.report.findings.transports import handshakes
from deadheat.report.formats import document as to
from deadheat.report.formats.explained import explanation_part
from deadheat.report.model.series import QUANTILES, Distribution
from deadheat.report.model.view import Cell, ContenderView, OfferedCell, RunView, TrialView
from deadheat.stats.ranking.ranks import Ranking
from deadheat.stats.ranking.ratio import RatioInterval
from deadheat.store.listing import short_id

NOT_ASCII = re.compile(r"[^\x00-\x7f]")  # in JSON, only within texts

Made = TypeVar("Made", bound=to.Part)


def write(view: RunView, indent: Literal[2] | None = 2, source: str | None = None) -> str:
    """The document, as `docs/schema-report.json` describes it; ASCII, for any output.

    Its commands name the run by `source`; without it, by its id.
    """
    document = build(view, source or short_id(view.run_id))
    try:
        text = document.model_dump_json(indent=indent, by_alias=True)
    except PydanticSerializationError:  # half of a surrogate pair, as no run writes it
        plain = document.model_dump(mode="json", by_alias=True)
        text = json.dumps(plain, indent=indent, allow_nan=False)
    if not text.isascii():
        text = NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)
    return text + "\n"


def build(view: RunView, source: str) -> to.Document:
    views = view.by_workload
    pairs = [(each, analyze(each)) for each in views]
    analysis = analyze(view)
    faults = _faults(views)
    return _part(
        to.Document,
        view,
        schema=to.SCHEMA,
        run=_part(
            to.RunPart,
            view,
            id=view.run_id,
            why=view.conclusion.why,
            protocol=view.protocol.model_dump(mode="json"),
            blocks=analysis.blocks,
            invocations=analysis.invocations,
            reasonable_s=reasonable_s(view),
            measured_share=analysis.measured_share,
        ),
        hosts=[
            {"role": host.role, "cpus": host.cpus, "fingerprint": host.fingerprint.to_json()}
            for host in view.hosts
        ],
        contenders=_contenders(views, faults),
        levels=[
            _level(each, own, level, source, faults) for each, own in pairs for level in own.levels
        ],
        rates=[part for each in views for part in _rates(each)],
        capacities=[_capacity(view, result) for result in capacities(view)],
        cautions=list(_cautions(views)),
        conclusions=[
            _part(to.StatementPart, statement, workload=each.workload)
            for each, own in pairs
            for statement in conclusions(each, own)
        ],
        measured=measured(view, analysis),
        heading=heading(view, analysis),
        method=method(view, analysis),
        profile=profile(view),
        handshakes=[row for each in views for row in handshakes(each)],
        explanation=explanation_part(view),
    )


def _rates(view: RunView) -> Iterator[to.RateOrder]:
    for level in rate_levels(view):
        for measure in WORDS:
            standings = [_at_rate(each, measure) for each in level.by(measure)]
            more = {"workload": view.workload, "measure": measure, "standings": standings}
            yield _part(to.RateOrder, level, **more)


def _at_rate(standing: RateStanding, measure: Measure) -> to.RateStandingPart:
    row, cell = standing.row, standing.cell
    cpu_us, p99_us = cell.server_cpu_us_per_request, cell.response["p99"]
    return _part(
        to.RateStandingPart,
        standing,
        name=standing.contender.name,
        rank_low=row.rank_low if row else None,
        rank_high=row.rank_high if row else None,
        value_us=cpu_us if measure == "cost" else p99_us,
        p50_us=cell.response["p50"],
        p99_9_us=cell.response["p99_9"],
        trials=len(cell.trials),
        trials_valid=cell.trials_valid,
    )


def _part(kind: type[Made], source: object, **more: Any) -> Made:
    """A part of the document: `more`, and the attributes of `source` that are named as the rest."""
    return kind.model_validate(
        {name: getattr(source, name) for name in _fields(kind) - more.keys()} | more
    )


def _unchecked(kind: type[Made], **values: Any) -> Made:
    """A part of which all values are known to be right. `model_construct` takes five times as long,
    and a run of 150 servers on eight workloads has 90,000 pairs."""
    made = kind.__new__(kind)
    object.__setattr__(made, "__dict__", values)
    object.__setattr__(made, "__pydantic_fields_set__", set(values))
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


@functools.cache
def _fields(kind: type[to.Part]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in kind.model_fields.items())


def _faults(views: Sequence[RunView]) -> dict[str, str | None]:
    """Why each contender took no part in the run; None for one with a workload without a fault."""
    faults: dict[str, str | None] = {}
    for view in views:
        for each in (*view.contenders, *view.controls):
            faults[each.name] = faults.get(each.name, each.fault) and each.fault
    return faults


def _contenders(
    views: Sequence[RunView], faults: Mapping[str, str | None]
) -> list[to.ContenderPart]:
    """Contenders, then controls, each once with what it did on all workloads."""
    parts: dict[str, list[tuple[RunView, ContenderView]]] = {}
    for contenders in ("contenders", "controls"):
        for view in views:
            for each in getattr(view, contenders):
                parts.setdefault(each.name, []).append((view, each))
    return [
        _part(
            to.ContenderPart,
            of_one[0][1],
            fault=faults[name],
            levels=[_cell(view, c, cell) for view, c in of_one for cell in c.cells.values()],
            offered=[_offered(view, cell) for view, c in of_one for cell in c.offered],
            footprint=footprint(*of_one[0]),
        )
        for name, of_one in parts.items()
    ]


def _cautions(views: Sequence[RunView]) -> Iterator[to.CautionPart]:
    """A caution that every workload has is one about all of them."""
    by_view = [cautions(view) for view in views]
    common = [c for c in by_view[0] if all(c in others for others in by_view[1:])]
    yield from (_part(to.CautionPart, caution, workload=None) for caution in common)
    for view, own in zip(views, by_view, strict=True):
        for caution in own:
            if caution not in common:
                yield _part(to.CautionPart, caution, workload=view.workload)


def _cell(view: RunView, contender: ContenderView, cell: Cell) -> to.CellPart:
    slowest, fastest = cell.spread_per_s or (None, None)
    return _part(
        to.CellPart,
        cell,
        workload=view.workload,
        aggregate=view.aggregate,
        rate_per_s=cell.rate_per_s(view.aggregate),
        rate_per_s_min=slowest,
        rate_per_s_max=fastest,
        trials_valid=len(cell.valid),
        service=_latency(cell.service),
        first_byte=_latency(cell.first_byte),
        limit=limit_of(view, contender, cell),
        trials=list(map(_trial, cell.trials)),
    )


def _offered(view: RunView, cell: OfferedCell) -> to.Offered:
    return _part(
        to.Offered,
        cell,
        workload=view.workload,
        response=_latency(cell.response),
        first_byte=_latency(cell.first_byte),
        trials=list(map(_trial, cell.trials)),
    )


def _trial(trial: TrialView) -> to.TrialPart:
    return _part(to.TrialPart, trial, slices=tuple(trial.slices) if trial.with_series else ())


def _latency(distribution: Distribution) -> to.LatencyPart:
    quantiles = {f"{name}_us": distribution[name] for name in QUANTILES}
    return _part(to.LatencyPart, distribution, **quantiles)


def _capacity(view: RunView, result: CapacityResult) -> to.CapacityPart:
    return _part(to.CapacityPart, result, **result.capacity.model_dump(), slo=objective(view))


def _level(
    view: RunView,
    analysis: Analysis,
    level: LevelAnalysis,
    source: str,
    faults: Mapping[str, str | None],
) -> to.LevelPart:
    ranking = level.ranking
    return _part(
        to.LevelPart,
        level,
        workload=view.workload,
        answer=answer(view, level),
        trust=trust(view, analysis, level),
        settled=ranking is not None and ranking.settled,
        confidence=ranking.level.confidence if ranking else None,
        margin=ranking.margin if ranking else None,
        minimum_detectable_effect=ranking.minimum_detectable_effect if ranking else None,
        method=ranking.pairs[0].ratio.method if ranking and ranking.pairs else None,
        standings=[_standing(view, level, standing, faults) for standing in level.standings],
        pairs=list(_pairs(view, analysis, ranking)) if ranking else (),
        open=open_points(view, analysis, level, source) if view.races else (),
        scaling=[_scaling(view, curve) for curve in curves(view, level)],
    )


def _standing(
    view: RunView, level: LevelAnalysis, standing: Standing, faults: Mapping[str, str | None]
) -> to.StandingPart:
    """One that was left out of this workload alone has the fault as its reason."""
    contender, reason = standing.contender, standing.reason
    if not standing.cell.trials and contender.fault and not faults[contender.name]:
        reason = contender.fault
    row = standing.row if standing.ranked else None
    return _part(
        to.StandingPart,
        standing,
        name=contender.name,
        reason=reason,
        rank_low=row.rank_low if row else None,
        rank_high=row.rank_high if row else None,
        group=row.group if row else None,
        ratio_to_leader=_ratio(standing.ratio_to_leader),
        pauses=pauses_at(view, level).get(contender.name),
    )


def _pairs(view: RunView, analysis: Analysis, ranking: Ranking) -> Iterator[to.PairPart]:
    """Every pair; there are so many that they are not checked once more."""
    neighbors = {id(pair) for pair in ranking.neighbors}
    for pair in ranking.pairs:
        needs = remaining(view, analysis, pair) if pair.effort else None
        yield _unchecked(
            to.PairPart,
            faster=pair.faster,
            slower=pair.slower,
            neighbors=id(pair) in neighbors,
            verdict=pair.verdict.value,
            ratio=_ratio(pair.ratio),
            probability_faster=to.known(pair.probability_faster),
            extra_blocks=pair.effort.extra_blocks if pair.effort else None,
            extra_invocations=pair.effort.extra_invocations if pair.effort else None,
            decided_after_s=needs.time_s if needs else None,
            least_difference=needs.least if needs else None,
        )


def _ratio(ratio: RatioInterval | None) -> to.Ratio | None:
    if ratio is None or math.isnan(ratio.ratio):
        return None
    known = math.isfinite(ratio.high)
    return _unchecked(
        to.Ratio,
        ratio=ratio.ratio,
        low=ratio.low if known else None,
        high=ratio.high if known else None,
    )


def _scaling(view: RunView, curve: Curve) -> to.Scaling:
    return _part(
        to.Scaling,
        curve,
        points=[
            _part(
                to.ScalingPoint,
                point.standing.cell,
                name=point.standing.contender.name,
                workers=point.workers,
                rate_per_s=point.standing.cell.rate_per_s(view.aggregate),
                ratio_to_fewest=point.gain,
            )
            for point in curve.points
        ],
        text=scaling_sentences([curve]),
    )
