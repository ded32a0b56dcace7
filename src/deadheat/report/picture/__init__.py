"""Pictures of a run: plain SVG, and PNG made from it."""

from collections.abc import Callable, Mapping

from deadheat.errors import DeadheatError
from deadheat.report.findings.analysis import Analysis, analyze
from deadheat.report.model.view import RunView
from deadheat.report.picture.bars import draw_bars, draw_by_language, draw_profile
from deadheat.report.picture.card import draw_badge, draw_card
from deadheat.report.picture.curves import draw_decay, draw_flame, draw_latency
from deadheat.report.picture.svg import png

__all__ = ["NAMING", "PICTURES", "draw", "png"]

_DRAWERS: Mapping[str, Callable[[RunView, Analysis], str | None]] = {
    "bars": draw_bars,
    "languages": draw_by_language,
    "latency": draw_latency,
    "decay": draw_decay,
    "profile": draw_profile,
}
_NAMING: Mapping[str, Callable[[RunView, Analysis, tuple[str, ...]], str | None]] = {
    "card": draw_card,
    "badge": draw_badge,
    "flame": draw_flame,
}
PICTURES = (*_DRAWERS, *_NAMING)
NAMING = tuple(_NAMING)  # pictures of one or two contenders
_NEEDS = {
    "latency": "the histograms of the load generator `engine`",
    "decay": "two consecutive trials of one start",
    "profile": "several workloads",
    "card": "two contenders",
    "badge": "a contender",
    "flame": "stacks of this contender, as `deadheat explain` samples them with perf",
}


def draw(view: RunView, picture: str, names: tuple[str, ...] = ()) -> str:
    """One of `PICTURES` as SVG; `names` are the contenders of one in `NAMING`.

    Raises `DeadheatError` if the run has nothing to draw.
    """
    analysis = analyze(view)
    if picture in _NAMING:
        drawn = _NAMING[picture](view, analysis, names)
    else:
        drawn = _DRAWERS[picture](view, analysis)
    if drawn is None:
        needs = _NEEDS.get(picture, "a closed-loop trial that ended with a rate")
        raise DeadheatError(
            f"--picture {picture}: this needs {needs}, which run {view.run_id} does not have",
            f"choose another picture: {', '.join(name for name in PICTURES if name != picture)}",
        )
    return drawn
