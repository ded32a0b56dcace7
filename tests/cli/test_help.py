import subprocess
import sys

import click
import pytest

from deadheat import __version__
from deadheat.cli import COMMANDS, cli
from deadheat.cli.summaries import SUMMARIES
from tests.cli.conftest import Deadheat


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example(deadheat: Deadheat, name: str) -> None:
    ended = deadheat(name, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: deadheat {name}")
    _, example, shown = ended.out.partition("Example")
    assert example
    assert f"deadheat {name}" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text(deadheat: Deadheat, name: str) -> None:
    lines = deadheat(name, "--help").out.partition("Options:\n")[2].splitlines()
    has_help = [
        "  " in line.strip() or below.startswith("      ")
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("  -")
    ]
    assert has_help
    assert all(has_help)


def test_the_help_lists_the_commands_in_their_order(deadheat: Deadheat) -> None:
    listing = deadheat("--help").out.partition("Commands:\n")[2]
    assert [line.split()[0] for line in listing.splitlines() if line[2:3].strip()] == list(COMMANDS)


def test_no_command_shows_the_help(deadheat: Deadheat) -> None:
    ended = deadheat()
    assert "Usage: deadheat" in ended.out + ended.err


def test_version_is_printed(deadheat: Deadheat) -> None:
    assert deadheat("--version").out == f"deadheat, version {__version__}\n"


def test_an_unknown_command_is_reported_with_the_nearest_name(deadheat: Deadheat) -> None:
    ended = deadheat("rum")
    assert ended.code == 2
    assert "No such command 'rum'. Did you mean run?" in ended.err


def test_no_summary_is_cut_at_80_columns(deadheat: Deadheat) -> None:
    """Eleven of the lines ended in `...`."""
    _, _, commands = deadheat("--help").out.partition("Commands:")
    lines = commands.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert [line for line in lines if not line.endswith((".", "?")) or "..." in line] == []


def test_the_listed_summaries_are_those_of_the_commands() -> None:
    ctx = click.Context(cli)
    commands = {name: cli.get_command(ctx, name) for name in COMMANDS}
    assert {
        name: command.get_short_help_str(200) for name, command in commands.items() if command
    } == SUMMARIES


def test_the_help_imports_no_command_and_no_numpy() -> None:
    """The list of commands took half a second: it imported all of them."""
    code = (
        "import sys; from deadheat.cli import cli; cli.main(['--help'], standalone_mode=False); "
        "print([name for name in sys.modules if name in ('numpy', 'pydantic', 'rich') "
        "or name.startswith('deadheat.report')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
