"""Scaling with workers, as JSON."""

from deadheat.report.findings.scaling import Curve, Point
from deadheat.report.formats import document as to
from deadheat.report.formats.scaling_text import sentences
from deadheat.report.model.view import RunView


def scaling(view: RunView, curve: Curve) -> to.Scaling:
    return to.Scaling(
        server=curve.server,
        setting=curve.setting,
        cpus=curve.cpus,
        points=tuple(_point(view, point) for point in curve.points),
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
