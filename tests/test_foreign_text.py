"""Text of servers, manifests and bundles cannot control a terminal."""

import ast
import csv
import io
from pathlib import Path

import pytest
from rich.table import Table

from deadheat import report
from deadheat.console import console
from deadheat.foreign_text import escaped, printable, spreadsheet_cell
from deadheat.output import echo, echo_json, echo_rendered
from deadheat.report.formats.markdown import code, escape
from tests.report.made import made_run

SOURCE = Path(__file__).parents[1] / "src" / "deadheat"
PRINTS = (
    "output.py",
    "console.py",
    *(f"host/agent/{name}.py" for name in ("command", "requests")),
    "host/batch.py",
    "load/pooling.py",
)
# Clear the screen, hide text, one-character CSI, return, reverse the direction, hide a space.
HOSTILE = "a\x1b[2Jb\x1b[8mc\x9b2Jd\re\u202ef\u200bg\u2028h"
PLAIN = r"a\x1b[2Jb\x1b[8mc\x9b2Jd\re\u202ef\u200bg\u2028h"


def test_hidden_characters_are_escaped() -> None:
    assert escaped(HOSTILE) == PLAIN
    assert escaped("a\nb") == r"a\nb"
    assert printable(f"a\n\t{HOSTILE}") == f"a\n\t{PLAIN}"
    assert printable("Käse 鼠 🐭\n") == "Käse 鼠 🐭\n"


def test_printed_lines_have_no_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: the log of a server could clear the screen."""
    echo(HOSTILE)
    echo(HOSTILE, err=True, fg="red")
    assert capsys.readouterr() == (f"{PLAIN}\n", f"{PLAIN}\n")


def test_printed_json_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({HOSTILE: "\x7f"})
    assert printable(printed := capsys.readouterr().out) == printed
    assert r"\u001b" in printed
    assert r"\u007f" in printed


def test_console_prints_no_escape_sequence_of_others() -> None:
    terminal = console(width=200)
    table = Table("header")
    table.add_row(HOSTILE)
    with terminal.capture() as captured:
        terminal.print(table, HOSTILE)
    text = captured.get()
    assert PLAIN.replace(r"\r", "") in text  # rich removes carriage returns
    assert printable(text) == text


def test_markdown_has_no_escape_sequences() -> None:
    assert printable(escape(HOSTILE)) == escape(HOSTILE)
    assert code(f"`{HOSTILE}\n") == f"`` `{PLAIN}\\n ``"


@pytest.mark.parametrize("format_name", ["terminal", "md", "csv", "json"])
def test_a_report_has_no_escape_sequences(format_name: str, tmp_path: Path) -> None:
    """Regression: CSV contained the names of contenders as they were."""
    run = made_run(tmp_path / "runs.sqlite")
    run.race({HOSTILE: 9000, "beta": 3000}, blocks=4)
    run.end()
    text = report.write(report.load_view(run.store, run.run_id, whole=True), format_name)
    assert printable(text) == text
    if format_name == "csv":
        assert PLAIN in {row["name"] for row in csv.DictReader(io.StringIO(text))}


def test_a_rendered_report_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    echo_rendered("\x1b[1mbold\x1b[0m")
    assert "bold" in capsys.readouterr().out


def _prints(path: Path) -> list[str]:
    """The calls in a file that print without `deadheat.output`."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    printing = ("print", "click.echo", "click.secho", "Console", "sys.stdout.write")
    return [name for name in names if name in printing or name.endswith("stderr.write")]


def test_every_command_prints_through_the_same_two_files() -> None:
    others = {
        str(path.relative_to(SOURCE)): calls
        for path in SOURCE.rglob("*.py")
        if str(path.relative_to(SOURCE)) not in PRINTS and (calls := _prints(path))
    }
    assert not others
    assert _prints(SOURCE / "output.py")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", " =1", "\n=1", "＝1"])
def test_bug_a_spreadsheet_took_a_name_for_a_formula(text: str) -> None:
    assert spreadsheet_cell(text).startswith("'")
    assert spreadsheet_cell("go-net-http") == "go-net-http"
