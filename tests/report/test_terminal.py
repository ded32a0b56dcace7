"""The report on a terminal and as Markdown, also where an encoding lacks some signs."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from deadheat.report.formats import terminal as text_report
from deadheat.report.formats.markdown import code, write
from tests.report.made import QUICK, SETTLE, MadeRun, failed, made_run

LONG = "python-gunicorn-flask:w16"


def shown(run: MadeRun, width: int = 80, terminal: bool = False, verbose: bool = False) -> str:
    console = Console(width=width, force_terminal=terminal)
    return text_report.shown(console, run.view(), verbose=verbose)


def line_of(text: str, name: str) -> str:
    """The row of a name in the first table, or the line of its header."""
    lines = text.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("rank"))
    return next(line for line in lines[first:] if name in line and "$" not in line)


def widest(text: str) -> int:
    """The columns of the longest line; a command stays whole, so that it can be copied."""
    lines = [line for line in text.splitlines() if not line.strip().startswith("deadheat ")]
    return max(map(cell_len, lines))


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        ((10, 100, 1000), [LONG, *(f"server-{number:02}" for number in range(11))]),
        ((10, 100, 1000, 10_000), ["n" * 30, "m" * 30]),
    ],
)
def test_tables_fit_80_columns_and_keep_every_figure_whole(
    tmp_path: Path, levels: tuple[int, ...], names: list[str]
) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, "connections": list(levels)})
    rates = {name: 120_000 / (1 + place) for place, name in enumerate(names)}
    run.race(rates, invocations=2, blocks=3, levels=levels)
    run.trial(names[-1], 1.0, connections=1000, errors={"reset": 123_456}, gates=failed())
    text = shown(run, verbose=True)
    assert widest(text) <= 80
    assert "…" not in text
    headers = ("rank", "% of leader", "p50", "p99", "µs/req", "MiB", "errors")
    assert all(header in text for header in (*headers, *(f"at {level:,}" for level in levels)))
    assert all(sum(name in line for line in text.splitlines()) >= 2 for name in names)


def test_a_wide_terminal_has_one_table(run: MadeRun) -> None:
    run.race({"alpha": 9000, "beta": 3000}, blocks=4)
    text = shown(run, width=200, verbose=True)
    assert "language" in line_of(text.partition("Details")[2], "rank")
    assert "wider terminal" not in text


def test_labels_best_of_n(tmp_path: Path) -> None:
    protocol = {**QUICK, "kind": "alone", "aggregate": "best"}
    run = made_run(tmp_path / "runs.sqlite", protocol=protocol)
    run.race({"alpha": 9000, "beta": 3000}, invocations=1, blocks=5)
    text = shown(run)
    assert "best of 5" in text
    assert "favors servers with unsteady rates" in text


def test_a_run_in_progress_and_an_empty_one_are_shown(run: MadeRun) -> None:
    assert "still under way" in shown(run)
    run.race({"alpha": 9000, "beta": 3000}, invocations=1, blocks=1)
    assert "still under way" in shown(run)
    run.end("interrupted", "interrupted")
    assert "interrupted after" in shown(run)


@pytest.mark.parametrize(
    "name", ["[red]alert[/red]", "a|b", "<script>x</script>", "\x1b[31mred", "a\u202eb", "大" * 40]
)
def test_escapes_hostile_names(run: MadeRun, name: str) -> None:
    run.race({name: 9000, "beta": 3000})
    run.contender("gone", fault=f"{name} did not run")
    text = shown(run)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert widest(text) <= 80
    if name.isascii() and name.isprintable():
        assert name in text


def test_no_color_without_a_terminal_or_with_no_color(
    run: MadeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.race({"alpha": 9000, "beta": 3000}, blocks=4)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" not in shown(run)
    assert "\x1b[1;33m" in shown(run, terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "33m" not in shown(run, terminal=True)


def test_details_are_behind_verbose(run: MadeRun) -> None:
    run.race({"alpha": 9000, "beta": 3000})
    assert "Conclusion" not in shown(run)
    assert shown(run, verbose=True).startswith(shown(run))
    assert "Conclusion" in shown(run, verbose=True)


def written(run: MadeRun) -> str:
    return write(run.view())


def test_every_row_of_a_table_has_as_many_cells(run: MadeRun) -> None:
    run.race({"a|b": 9000, "c\nd": 3000, "e`f": 2000})
    run.contender("gone", fault="a | b\nc", version="1|2")
    tables = written(run).split("\n\n")
    for table in tables:
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) <= 1


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("[a](b)", "\\[a\\](b)"),
        ("*a*_b_", "\\*a\\*\\_b\\_"),
        ("a|b", "a\\|b"),
        ("`a`", "\\`a\\`"),
    ],
)
def test_markdown_escapes_hostile_names(run: MadeRun, name: str, kept: str) -> None:
    run.race({name: 9000, "beta": 9000})
    run.trial(name, 1.0, gates=failed())
    text = written(run)
    assert kept in text
    assert name not in text.replace(kept, "")


def test_code_spans_can_contain_backticks() -> None:
    assert code("a") == "`a`"
    assert code("a``b") == "``` a``b ```"


FORMATS = ("terminal", "md", "csv", "json", "--list")
ENCODINGS = ("latin-1", "cp437", "ascii")  # click replaces an output that begins as ASCII
EACH_FORMAT = """
import sys
from deadheat.cli import main

store, formats, encodings = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
for encoding in encodings:
    sys.stdout.reconfigure(encoding=encoding, errors="strict")
    for format_name in formats:
        asked = [format_name] if format_name == "--list" else ["--format", format_name]
        sys.argv = ["deadheat", "report", *asked, "--store", store]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
        sys.stdout.flush()
        sys.stdout.buffer.write(bytes(1))
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> MadeRun:
    run = made_run(tmp_path_factory.mktemp("encoding") / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 9000, "大": 3000}, blocks=4)
    run.end()
    return run


def test_no_output_is_too_poor_for_a_report(stored: MadeRun) -> None:
    shown = subprocess.run(
        [
            *(sys.executable, "-c", EACH_FORMAT, str(stored.store.path)),
            *(" ".join(FORMATS), " ".join(ENCODINGS)),
        ],
        capture_output=True,
        check=True,
    )
    *written, rest = shown.stdout.split(bytes(1))
    assert rest == b""
    cases = itertools.product(ENCODINGS, FORMATS)
    for (encoding, format_name), output in zip(cases, written, strict=True):
        text = output.decode("utf-8" if format_name in ("md", "csv") else encoding)
        assert stored.run_id[-4:] in text, (encoding, format_name)
        if format_name == "terminal":
            assert re.search(r"/ +(alpha|beta)", text)
            assert "\\u5927" in text
