"""A badge for a README: a label and a verdict, in one line."""

from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, Standing
from deadheat.report.findings.versus import chosen_versus, name_of
from deadheat.report.formats.tables import rank
from deadheat.report.model.view import RunView
from deadheat.report.picture import svg

HEIGHT = 22
LETTER = 6.7  # an upper bound of the mean width of a letter at 11 px
PAD = 7
LABEL, GOOD, PLAIN = "#3d444b", "#0b62ad", "#59626b"


def draw(view: RunView, analysis: Analysis, names: tuple[str, ...] = ()) -> str | None:
    """One name: its rank. Two names: their verdict. None: who is fastest."""
    if not analysis.levels or not analysis.main.standings:
        return None
    if len(names) > 1:
        pair = chosen_versus(view, analysis, names)
        label = f"{name_of(pair.first)} vs {name_of(pair.second)}"
        return badge(label, pair.brief, GOOD if pair.pair else PLAIN)
    standing = _standing(view, analysis, names[0]) if names else analysis.main.standings[0]
    count = len(analysis.main.ranked)
    if not standing.ranked:
        return badge(name_of(standing), "not ranked", PLAIN)
    return badge(name_of(standing), f"rank {rank(standing)} of {count}", GOOD)


def _standing(view: RunView, analysis: Analysis, name: str) -> Standing:
    for standing in analysis.main.standings:
        if name in (standing.contender.name, standing.name):
            return standing
    names = [standing.contender.name for standing in analysis.main.standings]
    raise DeadheatError(
        f"--of {name}: run {view.run_id} has no such contender",
        f"its contenders: {', '.join(names)}",
    )


def badge(label: str, verdict: str, color: str) -> str:
    """Two boxes with text."""
    left, right = (2 * PAD + LETTER * len(words) for words in (label, verdict))
    base = HEIGHT / 2 + 4
    parts = [
        svg.rect(0, 0, left, HEIGHT, LABEL),
        svg.rect(left, 0, right, HEIGHT, color),
        svg.text(left / 2, base, label, anchor="middle", fill=svg.GROUND, size=11),
        svg.text(left + right / 2, base, verdict, anchor="middle", fill=svg.GROUND, size=11),
    ]
    words = one_line(f"{label}: {verdict}")
    return svg.document(HEIGHT, words, parts, round(left + right, 1))
