"""An interval that is too wide to draw is shown as unknown: it once disappeared from the row."""

import dataclasses
import math
from pathlib import Path

from deadheat import numbers
from deadheat.report.findings.analysis import Analysis, Standing, analyze
from deadheat.report.findings.conclusion import difference
from deadheat.report.formats.tables import of_leader
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.report.picture.bars import draw
from deadheat.stats.ratio import RatioInterval
from tests.report.made import made_run


def with_wide_interval(folder: Path, low: float, high: float) -> tuple[RunView, Analysis]:
    """A race of two whose second row has this interval."""
    run = made_run(folder / "runs.sqlite")
    run.race({"a": 1000, "b": 800})
    view = load_view(run.store, run.end())
    analysis = analyze(view)
    first, second = analysis.main.standings
    assert second.row is not None
    ratio = dataclasses.replace(second.row.ratio_to_leader, low=low, high=high)
    second = dataclasses.replace(second, row=dataclasses.replace(second.row, ratio_to_leader=ratio))
    level = dataclasses.replace(analysis.main, standings=(first, second))
    return view, dataclasses.replace(analysis, levels=(level,))


def second(analysis: Analysis) -> Standing:
    return analysis.main.standings[1]


def test_a_table_prints_it_as_unknown(tmp_path: Path) -> None:
    for low, high in ((0.05, 16.0), (0.0, math.inf)):
        folder = tmp_path / str(low)
        folder.mkdir()
        _, analysis = with_wide_interval(folder, low, high)
        assert of_leader(second(analysis)).endswith(" [unknown]")


def test_a_known_one_is_printed(tmp_path: Path) -> None:
    _, analysis = with_wide_interval(tmp_path, 0.7, 0.9)
    assert of_leader(second(analysis)).endswith(" [70.0–90.0]")


def test_a_sentence_prints_it_as_unknown(tmp_path: Path) -> None:
    _, analysis = with_wide_interval(tmp_path, 0.0, math.inf)
    row = second(analysis).row
    assert row is not None
    assert difference(row.ratio_to_leader).endswith(f"% {numbers.UNKNOWN}")
    assert isinstance(row.ratio_to_leader, RatioInterval)


def test_a_picture_lets_the_whisker_fade_out(tmp_path: Path) -> None:
    view, analysis = with_wide_interval(tmp_path, 0.05, 16.0)
    picture = draw(view, analysis)
    assert picture is not None
    assert picture.count("stroke-opacity") > 8
    assert "a fading line: unknown" in picture
    narrow = draw(view, analyze(view))
    assert narrow is not None
    assert "stroke-opacity" not in narrow
