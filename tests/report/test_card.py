"""Cards and badges: the verdict on two contenders, or the rank of one, as a picture."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from deadheat.cli import cli
from deadheat.errors import DeadheatError
from deadheat.report import load_view
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.versus import versus
from deadheat.report.picture import draw
from deadheat.report.picture.svg import colors
from tests.report.made import MadeRun, failed, made_run

SPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>&amp;"


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"gin": 9000, "echo": 8995, "slow": 3000, HOSTILE: 2000}, blocks=8)
    run.contender("broken")
    run.trial("broken", 20_000.0, gates=failed())
    run.end()
    return run


def words(svg: str) -> str:
    parts = ElementTree.fromstring(svg).iter(f"{SPACE}text")
    return " ".join(part.text or "" for part in parts)


def test_a_card_of_a_separated_pair_says_by_how_much(run: MadeRun) -> None:
    shown = words(draw(load_view(run.store, run.run_id), "card", ("slow", "gin")))
    assert "gin is " in shown
    assert "% faster than slow [" in shown
    assert "95 % confidence" in shown
    assert run.run_id in shown


def test_a_card_of_a_pair_that_is_not_separated_is_a_dead_heat(run: MadeRun) -> None:
    shown = words(draw(load_view(run.store, run.run_id), "card", ("gin", "echo")))
    assert ": a dead heat" in shown
    assert "faster than" not in shown


def test_a_card_with_an_unranked_contender_has_no_verdict(run: MadeRun) -> None:
    svg = draw(load_view(run.store, run.run_id), "card", ("gin", "broken"))
    assert "gin and broken: no verdict" in words(svg)
    assert "broken is not ranked: " in words(svg)
    assert "stroke-dasharray" in svg


def test_a_card_shows_the_first_two_by_default(run: MadeRun) -> None:
    view = load_view(run.store, run.run_id)
    first, second = (each.contender.name for each in analyze(view).main.standings[:2])
    assert draw(view, "card") == draw(view, "card", (first, second))


def test_the_order_of_the_names_does_not_matter(run: MadeRun) -> None:
    level = analyze(load_view(run.store, run.run_id)).main
    assert versus(level, "gin", "slow") == versus(level, "slow", "gin")


def test_the_bars_of_a_card_have_the_ratio_of_its_sentence(run: MadeRun) -> None:
    view = load_view(run.store, run.run_id)
    pair = versus(analyze(view).main, "gin", "slow").pair
    assert pair is not None
    rects = ElementTree.fromstring(draw(view, "card", ("gin", "slow"))).findall(f"{SPACE}rect")
    longer, shorter = (float(rect.attrib["width"]) for rect in rects[1:])
    assert longer / shorter == pytest.approx(pair.ratio.ratio, rel=0.01)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("slow",), "slow rank 3 of 4"),
        (("broken",), "broken not ranked"),
        (("gin", "slow"), "gin vs slow +"),
    ],
)
def test_a_badge_has_the_rank_or_the_verdict(
    run: MadeRun, names: tuple[str, ...], text: str
) -> None:
    assert text in words(draw(load_view(run.store, run.run_id), "badge", names))


def test_foreign_names_are_text(run: MadeRun) -> None:
    view = load_view(run.store, run.run_id)
    for picture, names in (("card", ("gin", HOSTILE)), ("badge", (HOSTILE,))):
        assert HOSTILE in words(draw(view, picture, names))


@pytest.mark.parametrize(
    ("picture", "names", "symptom"),
    [
        ("card", ("gin", "unknown"), "--of unknown"),
        ("card", ("gin", "gin"), "expected two contenders"),
        ("card", ("gin",), "expected two contenders"),
        ("badge", ("unknown",), "--of unknown"),
    ],
)
def test_names_the_contender_that_is_missing(
    run: MadeRun, picture: str, names: tuple[str, ...], symptom: str
) -> None:
    with pytest.raises(DeadheatError, match=symptom):
        draw(load_view(run.store, run.run_id), picture, names)


def test_the_command_prints_a_card(run: MadeRun) -> None:
    asked = ["report", "--format", "svg", "--store", str(run.store.path)]
    names = ["--of", "gin", "--of", "slow"]
    done = CliRunner().invoke(cli, [*asked, "--picture", "card", *names])
    assert done.exit_code == 0
    assert "faster than slow" in words(done.output)
    refused = CliRunner().invoke(cli, [*asked, *names])
    assert refused.exit_code == 2
    assert "add --picture card" in refused.output


@pytest.mark.parametrize("count", [1, 8, 9, 30])
def test_no_two_groups_of_a_picture_share_a_color(count: int) -> None:
    assert len(set(colors(count))) == count
