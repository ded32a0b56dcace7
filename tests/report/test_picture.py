"""Pictures: well-formed SVG with every server, and PNG if resvg is installed."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from deadheat.cli import cli
from deadheat.errors import DeadheatError
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.versus import versus
from deadheat.report.picture import NAMING, PICTURES, draw, png
from deadheat.report.picture.curves import APART, TOP, apart, fell, shares
from deadheat.report.picture.svg import LINE, colors
from tests.report.made import MadeRun, failed, made_run

SPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>&amp;"


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("alpha", workers=1, manifest={"language": "Go"})
    run.contender("beta", workers=4, manifest={"language": "Rust"})
    run.race({"alpha": 9000, "beta": 3000}, blocks=4)
    run.contender("gamma & <co>", manifest={"language": "Go"})
    run.trial("gamma & <co>", 20_000.0, gates=failed())
    return run


def words(svg: str) -> str:
    parts = ElementTree.fromstring(svg).iter(f"{SPACE}text")
    return " ".join(part.text or "" for part in parts)


@pytest.mark.parametrize("picture", [name for name in PICTURES if name not in ("profile", "flame")])
def test_each_picture_is_well_formed_and_names_its_contenders(run: MadeRun, picture: str) -> None:
    names = ("alpha", "beta") if picture in NAMING else ()
    text = words(draw(run.view(), picture, names))
    assert "alpha" in text
    assert "beta" in text
    assert run.run_id in text or picture == "badge"


def test_a_whisker_spans_the_interval_of_the_ratio(run: MadeRun) -> None:
    svg = draw(run.view(), "bars")
    left = next(
        float(line.attrib["x1"])
        for line in ElementTree.fromstring(svg).iter(f"{SPACE}line")
        if line.attrib["x1"] == line.attrib["x2"] and line.attrib["stroke"] == LINE
    )
    whiskers = [
        (float(line.attrib["x1"]), float(line.attrib["x2"]))
        for line in ElementTree.fromstring(svg).iter(f"{SPACE}line")
        if line.attrib["stroke-width"] == "1.5" and line.attrib["y1"] == line.attrib["y2"]
    ]
    bars = [float(bar.attrib["width"]) for bar in ElementTree.fromstring(svg).iter(f"{SPACE}rect")]
    (whisker,) = whiskers  # the leader is what the others are compared with
    ends = [left + width for width in bars]
    assert any(whisker[0] < end < whisker[1] for end in ends)


def test_decay_is_the_mean_over_starts_of_the_share_of_the_first_trial(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("tired")
    for invocation, rates in enumerate(([1000, 500, 250], [4000, 2000]), start=1):
        for block, rate in enumerate(rates, start=1):
            run.trial("tired", float(rate), invocation=invocation, block=block)
    view = run.view()
    assert shares(view.contenders[0].cells[100]) == pytest.approx((1, 0.5))
    assert "1 of 1 server ended a start more than 10 %" in words(draw(view, "decay"))


def test_does_not_draw_a_level_without_rates(run: MadeRun) -> None:
    """landshark-2009 at 20,000 connections: no server answered, and no picture could be had."""
    run.trial("alpha", None, connections=20_000, state="failed", reason="no answer")
    view = run.view()
    assert 20_000 in view.levels
    assert "alpha" in words(draw(view, "bars"))


def test_spreads_names_that_would_overlap() -> None:
    places = apart([100.0, 101.0, 102.0, 300.0])
    assert places == pytest.approx([101 - APART, 101, 101 + APART, 300])
    assert apart([TOP, TOP]) == [TOP, TOP + APART]


@pytest.mark.parametrize("picture", PICTURES)
def test_names_the_missing_data_of_a_picture(tmp_path: Path, picture: str) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    with pytest.raises(DeadheatError, match=f"--picture {picture}"):
        draw(run.view(), picture)


def test_converts_svg_to_png(run: MadeRun) -> None:
    pytest.importorskip("resvg_py", reason="the package resvg_py is not installed")
    if not any(Path("/usr/share/fonts").rglob("*.[to]tf")):
        pytest.skip("this machine has no font to write with")
    made = png(draw(run.view(), "bars"))
    assert made.startswith(b"\x89PNG")


def test_hints_at_the_package_if_resvg_is_missing(
    run: MadeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(DeadheatError, match="resvg_py") as raised:
        png("<svg/>")
    assert "deadheat[png]" in (raised.value.hint or "")


@pytest.mark.parametrize("others", [["--format", "md"], ["--list"], []])
def test_rejects_a_picture_for_a_format_without_pictures(run: MadeRun, others: list[str]) -> None:
    asked = ["--picture", "decay", *others, "--store", str(run.store.path)]
    done = CliRunner().invoke(cli, ["report", *asked])
    assert done.exit_code == 2
    assert "--picture decay: " in done.output
    assert "add --format svg" in done.output


@pytest.fixture
def race(tmp_path: Path) -> MadeRun:
    race = made_run(tmp_path / "runs.sqlite")
    race.race({"gin": 9000, "echo": 8995, "slow": 3000, HOSTILE: 2000}, blocks=8)
    race.contender("broken")
    race.trial("broken", 20_000.0, gates=failed())
    race.end()
    return race


@pytest.mark.parametrize(
    ("names", "texts", "dashed"),
    [
        (("slow", "gin"), ("gin is ", "% faster than slow [", "95 % confidence"), False),
        (("gin", "echo"), (": a dead heat",), False),
        (("gin", "broken"), ("gin and broken: no verdict", "broken is not ranked: "), True),
    ],
)
def test_a_card_has_the_verdict(
    race: MadeRun, names: tuple[str, ...], texts: tuple[str, ...], dashed: bool
) -> None:
    svg = draw(race.view(), "card", names)
    assert all(text in words(svg) for text in (*texts, race.run_id))
    assert ("stroke-dasharray" in svg) == dashed


def test_a_card_shows_the_first_two_by_default(race: MadeRun) -> None:
    view = race.view()
    first, second = (each.contender.name for each in analyze(view).main.standings[:2])
    assert draw(view, "card") == draw(view, "card", (first, second))


def test_the_order_of_the_names_does_not_matter(race: MadeRun) -> None:
    level = analyze(race.view()).main
    assert versus(level, "gin", "slow") == versus(level, "slow", "gin")


def test_the_bars_of_a_card_have_the_ratio_of_its_sentence(race: MadeRun) -> None:
    view = race.view()
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
    race: MadeRun, names: tuple[str, ...], text: str
) -> None:
    assert text in words(draw(race.view(), "badge", names))


def test_foreign_names_are_text(race: MadeRun) -> None:
    for picture, names in (("card", ("gin", HOSTILE)), ("badge", (HOSTILE,))):
        assert HOSTILE in words(draw(race.view(), picture, names))


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
    race: MadeRun, picture: str, names: tuple[str, ...], symptom: str
) -> None:
    with pytest.raises(DeadheatError, match=symptom):
        draw(race.view(), picture, names)


def test_the_command_prints_a_card(race: MadeRun) -> None:
    asked = ["report", "--format", "svg", "--store", str(race.store.path)]
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


SINKING = [1000.0 * 0.95**trial for trial in range(8)]


@pytest.mark.parametrize(("control", "decayed"), [(SINKING, "None"), ([9000.0] * 8, "1")])
def test_what_the_controls_explain_is_no_decay(
    tmp_path: Path, control: list[float], decayed: str
) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    for name, rates in {"a": SINKING, "null-server": control}.items():
        run.contender(name, role="control" if name == "null-server" else "contender")
        for block, rate in enumerate(rates, start=1):
            run.trial(name, rate, block=block)
    picture = draw(run.ended(), "decay")
    assert f"{decayed} of 1 server ended a start more than 10 %" in picture
    assert "beside the controls" in picture


def test_four_noisy_trials_are_no_alarm() -> None:
    assert not fell((1.0, 0.8, 1.1, 0.7))
    assert not fell((1.0, 1.0, 1.0, 0.8, 1.05, 0.7))
    assert fell((1.0, 1.0, 0.9, 0.8, 0.7, 0.6))
