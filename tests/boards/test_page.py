"""The audit of boards in every format, from files and from its own JSON."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deadheat.boards.audit import audit_boards
from deadheat.boards.page import FORMATS, write
from deadheat.boards.readings import Readings, read_readings
from deadheat.boards.sections import remember
from deadheat.boards.words import CHECKS
from deadheat.cli import cli
from deadheat.errors import DeadheatError
from deadheat.store.bundle import export_run
from tests.boards.made import Made, only, spread_rates, written
from tests.report.made import made_run
from tests.report.sliced import SLICED, sliced_race

ROOT = Path(__file__).resolve().parents[2]
MARKUP = "<script>alert(1)</script>"


@pytest.fixture
def board_file(tmp_path: Path) -> Path:
    return written(tmp_path, Made(spread_rates()).board())


def audit(*words: object) -> Result:
    return CliRunner().invoke(cli, ["audit", *map(str, words)])


def made_readings() -> Readings:
    return audit_boards([Made(spread_rates()).board(only(["entry-03"], entry=MARKUP))])


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_says_what_the_noise_is(format_name: str) -> None:
    readings = made_readings()
    text = write(readings, format_name)
    needed = readings.of("made", "survives")[0].values["needed"]
    assert (
        str(needed) if format_name == "json" else "one entry in 20 changed by more than"
    ) in text
    assert text.endswith("\n")


def test_readings_are_read_as_they_were_written(tmp_path: Path) -> None:
    readings = made_readings()
    path = tmp_path / "boards.json"
    path.write_text(write(readings, "json"))
    assert read_readings(path) == readings
    assert len(path.read_text().splitlines()) > len(readings.findings)


def test_a_page_from_readings_is_that_from_the_files(board_file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    assert audit(board_file, "--format", "json", "-o", kept).exit_code == 0
    for format_name in ("text", "html"):
        from_files = audit(board_file, "--format", format_name)
        assert from_files.exit_code == 0, from_files.output
        assert audit(kept, "--format", format_name).output == from_files.output


def test_the_page_escapes_foreign_text_and_needs_no_script() -> None:
    html = write(made_readings(), "html")
    assert MARKUP not in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert html.count("<svg") == 2 * 3  # each for a broad and for a narrow screen


def test_the_first_sentences_are_at_most_five() -> None:
    boards = [Made(spread_rates(seed=s), name=f"board-{s}", seed=s).board() for s in range(4)]
    assert 3 <= len(remember(audit_boards(boards))) <= 5


def test_a_first_sentence_is_short_and_has_few_figures() -> None:
    """The page in docs/results, which has every kind of finding."""
    readings = read_readings(ROOT / "docs" / "results" / "boards.json")
    lines = remember(readings)
    assert len(lines) == 5
    for line in lines:
        assert len(line) <= 170, line
        assert len(re.findall(r"\d[\d,.]*", re.sub(r"\(.*\)", "", line))) <= 4, line


def test_every_check_has_words() -> None:
    codes = {finding.code for finding in made_readings().findings}
    assert codes <= {*CHECKS, "composite", "beside"}


def test_a_board_of_one_edition_says_that_its_noise_is_unknown(tmp_path: Path) -> None:
    ended = audit(written(tmp_path, Made(spread_rates(), editions=1).board()))
    assert ended.exit_code == 0
    assert "made: these files have too few repeats, so its noise" in ended.output
    assert "The files do not have what these need: Repeats: the board's own noise;" in ended.output


def test_a_bundle_stands_for_a_run_of_ours(tmp_path: Path, board_file: Path) -> None:
    """The command of docs/results/boards.md can be typed without a store."""
    run = made_run(tmp_path / "runs.sqlite", protocol=SLICED)
    rates = {"a": 9000.0, "b": 6000.0, "c": 3000.0}
    export_run(run.store, sliced_race(run, rates), tmp_path / "ours.deadheat")
    names = tmp_path / "names.csv"
    pairs = zip((0, 20, 40), rates, strict=True)
    rows = [f"made,entry-{place:02},{server}" for place, server in pairs]
    names.write_text("\n".join(["board,entry,server", *rows]))
    ended = audit(board_file, "--beside", tmp_path / "ours.deadheat", "--names", names)
    assert ended.exit_code == 0, ended.output
    assert "made: beside deadheat's own figures" in ended.output
    assert "--beside ours.deadheat" in ended.output
    missing = audit(board_file, "--beside", tmp_path / "none.deadheat")
    assert "none.deadheat is not a readable bundle" in str(missing.exception)


def test_broken_readings_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "boards.json"
    document = json.loads(write(made_readings(), "json"))
    document["findings"][0]["found"] = "many"
    path.write_text(json.dumps(document))
    with pytest.raises(DeadheatError, match=r"findings\.0\.found"):
        read_readings(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{board}", "--against", "x"], "--against and --import are for a replay"),
        (["{board}", "--names", "names.csv"], "--names needs --beside RUN"),
        (["{board}", "nothing.csv"], "nothing.csv: cannot be read"),
        (["woo-2016", "--cpus", "4"], "need FILE"),
        (["woo-2016", "--format", "html"], "need FILE"),
        ([__file__], "expected a board's file to end in .json or .csv"),
        (["a", "b", "c"], "expected NAME and RUN, or FILE"),
        (["{board}", "--beside", "x", "--store", "no.sqlite"], "no.sqlite does not exist"),
    ],
)
def test_flags_that_do_not_belong_together_are_rejected(
    words: list[str], message: str, board_file: Path
) -> None:
    ended = audit(*(word.format(board=board_file) for word in words))
    assert ended.exit_code != 0
    assert message in ended.output + str(ended.exception)
