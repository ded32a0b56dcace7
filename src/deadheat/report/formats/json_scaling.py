"""Scaling with workers, as JSON."""

import math

from deadheat.report.findings.scaling import Curve, Point
from deadheat.report.formats import document as to
from deadheat.report.formats.scaling_text import sentences
from deadheat.report.model.view import RunView
from deadheat.stats.usl import Estimate, ScalingFit


def scaling(view: RunView, curve: Curve) -> to.Scaling:
    return to.Scaling(
        server=curve.server,
        setting=curve.setting,
        cpus=curve.cpus,
        points=tuple(_point(view, point) for point in curve.points),
        fit=_fit(curve.fit) if curve.fit else None,
        text=tuple(sentences([curve])),
    )


def _point(view: RunView, point: Point) -> to.ScalingPoint:
    cell, gain = point.standing.cell, point.gain
    return to.ScalingPoint(
        name=point.standing.contender.name,
        workers=point.workers,
        rate_per_s=cell.rate_per_s(view.aggregate),
        ratio_to_fewest=to.Ratio(ratio=gain.ratio, low=gain.low, high=gain.high) if gain else None,
        server_cpu_us_per_request=cell.server_cpu_us_per_request,
    )


def _fit(fit: ScalingFit) -> to.ScalingFit:
    return to.ScalingFit(
        rate_of_one_per_s=_estimate(fit.rate_of_one),
        contention=_estimate(fit.contention),
        coherency=_estimate(fit.coherency),
        peak_workers=_estimate(fit.peak_workers),
        levels=fit.levels,
        blocks=fit.blocks,
        confidence=fit.confidence,
        provisional=fit.provisional,
    )


def _estimate(estimate: Estimate) -> to.Estimate:
    value, low, high = (
        bound if math.isfinite(bound) else None
        for bound in (estimate.value, estimate.low, estimate.high)
    )
    return to.Estimate(value=value, low=low, high=high)
