import pytest

from deadheat import __version__
from deadheat.cli import COMMANDS
from tests.cli.conftest import Deadheat


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_of_itself(deadheat: Deadheat, name: str) -> None:
    ended = deadheat(name, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: deadheat {name}")
    _, example, shown = ended.out.partition("Example")
    assert example
    assert f"deadheat {name}" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(deadheat: Deadheat, name: str) -> None:
    lines = deadheat(name, "--help").out.partition("Options:\n")[2].splitlines()
    told = [
        "  " in line.strip() or below.startswith("      ")
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("  -")
    ]
    assert told
    assert all(told)


def test_the_commands_are_listed_in_the_order_a_newcomer_meets_them(deadheat: Deadheat) -> None:
    told = deadheat("--help").out.partition("Commands:\n")[2]
    assert [line.split()[0] for line in told.splitlines() if line[2:3].strip()] == list(COMMANDS)


def test_no_command_shows_the_help(deadheat: Deadheat) -> None:
    ended = deadheat()
    assert "Usage: deadheat" in ended.out + ended.err


def test_the_version(deadheat: Deadheat) -> None:
    assert deadheat("--version").out == f"deadheat, version {__version__}\n"


def test_an_unknown_command_is_told_with_the_nearest(deadheat: Deadheat) -> None:
    ended = deadheat("rum")
    assert ended.code == 2
    assert "No such command 'rum'. Did you mean run?" in ended.err
