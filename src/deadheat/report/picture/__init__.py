"""Pictures of a run, to paste: plain SVG drawn here, and PNG made of it."""

from collections.abc import Callable, Mapping

from deadheat.errors import DeadheatError
from deadheat.report.findings.analysis import Analysis, analyze
from deadheat.report.model.view import RunView
from deadheat.report.picture import bars, decay, latency
from deadheat.report.picture.raster import png

__all__ = ["PICTURES", "draw", "png"]

_DRAWERS: Mapping[str, Callable[[RunView, Analysis], str | None]] = {
    "bars": bars.draw,
    "languages": bars.draw_by_language,
    "latency": latency.draw,
    "decay": decay.draw,
}
PICTURES = tuple(_DRAWERS)
_NEEDS = {
    "latency": "the histograms of the load generator `engine`",
    "decay": "two trials in a row of one start",
}


def draw(view: RunView, picture: str) -> str:
    """One of `PICTURES` as SVG. Raises `DeadheatError` where the run has nothing to draw."""
    drawn = _DRAWERS[picture](view, analyze(view))
    if drawn is None:
        needed = _NEEDS.get(picture, "a closed-loop trial that ended with a rate")
        raise DeadheatError(
            f"--picture {picture}: run {view.run_id} does not hold {needed}",
            f"draw another: {', '.join(name for name in PICTURES if name != picture)}",
        )
    return drawn
