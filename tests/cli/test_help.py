"""Help, completion scripts, and values that options take."""

import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from deadheat import __version__
from deadheat.cli import SUMMARIES, cli
from deadheat.cli.help import SHELLS, VARIABLE, Command, Flag, Topic
from deadheat.cli.options import DURATION
from deadheat.cli.workloads import import_command as import_workload
from tests.cli.conftest import Deadheat


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command but the groups, with its name."""
    ctx = click.Context(cli, **cli.context_settings)
    for name in SUMMARIES:
        command = cli.get_command(ctx, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {each}", sub) for each, sub in command.commands.items())
        else:
            yield name, command
    yield "workloads import", import_workload


def visible(command: click.Command) -> list[click.Option]:
    every = [param for param in command.params if isinstance(param, click.Option)]
    return [option for option in every if not option.hidden]


@pytest.mark.parametrize(("name", "command"), [*commands()])
def test_the_help_of_every_command(name: str, command: click.Command) -> None:
    """Every option has a text and a section, and the examples, which are not folded, come last."""
    assert isinstance(command, Command)
    shown = command.get_help(click.Context(command, info_name=name, **cli.context_settings))
    text, example, examples = shown.partition("\n  Example")
    _, rows = re.split(rf"^(?:Options|{'|'.join(Topic)}):$", text, maxsplit=1, flags=re.M)
    flags = re.findall(r"^  (?:-\w, )?(--[\w-]+)", rows, re.M)
    options = visible(command)
    assert {*flags, "--help"} == {max(option.opts, key=len) for option in options} | {"--help"}
    assert all(option.help and isinstance(option, Flag) for option in options)
    assert (bool(example), f"deadheat {name}" in examples) == (True, True)
    assert max(map(len, text.splitlines())) <= 80
    assert max(map(len, examples.splitlines())) <= 100


def test_flags_have_one_section_and_one_order_in_every_command() -> None:
    sections: dict[str, set[Topic]] = {}
    before: set[tuple[str, str]] = set()
    for _, command in commands():
        flags = [option for option in visible(command) if isinstance(option, Flag)]
        for flag in flags:
            sections.setdefault(max(flag.opts, key=len), set()).add(flag.section)
        for section in Topic:
            listed = [max(flag.opts, key=len) for flag in flags if flag.section is section]
            before |= set(itertools.combinations(listed, 2))
    assert {flag: several for flag, several in sections.items() if len(several) > 1} == {}
    assert {pair for pair in before if pair[::-1] in before} == set()


def test_a_long_list_of_options_has_sections(deadheat: Deadheat) -> None:
    """`run --help` was one list of 41 options."""
    out = deadheat("run", "--help").out
    headings = re.findall(r"^([A-Z][a-z ]+):$", out, re.M)
    assert headings == [section for section in Topic if section is not Topic.STORED_RUNS]


def listed(out: str) -> list[str]:
    """The lines of the help that describe a command."""
    _, _, commands = out.partition("  -h, --help")
    return [line for line in commands.splitlines()[1:] if line.startswith("  ")]


def test_no_command_shows_the_help(deadheat: Deadheat) -> None:
    ended = deadheat()
    assert "Usage: deadheat" in ended.out + ended.err


def test_version_is_printed(deadheat: Deadheat) -> None:
    assert deadheat("--version").out == f"deadheat, version {__version__}\n"


def test_no_summary_is_cut_at_80_columns(deadheat: Deadheat) -> None:
    """Eleven of the lines ended in `...`."""
    lines = listed(deadheat("--help").out)
    assert [line for line in lines if not line.endswith((".", "?")) or "..." in line] == []


def test_the_listed_summaries_are_those_of_the_commands() -> None:
    ctx = click.Context(cli)
    commands = {name: cli.get_command(ctx, name) for name in SUMMARIES}
    assert {
        name: command.get_short_help_str(200) for name, command in commands.items() if command
    } == SUMMARIES


def test_the_help_imports_no_command_and_no_numpy() -> None:
    """The list of commands took half a second: it imported all of them."""
    code = (
        "import sys; from deadheat.cli import cli; cli.main(['--help'], standalone_mode=False); "
        "print([name for name in sys.modules if name in ('numpy', 'scipy', 'pydantic', 'rich') "
        "or name.startswith('deadheat.report')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def completed(*words: str) -> list[str]:
    """What the last word may become."""
    *before, last = words
    shell = ShellComplete(cli, {}, "deadheat", VARIABLE)
    return [item.value for item in shell.get_completions(list(before), last)]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_its_script(deadheat: Deadheat, shell: str) -> None:
    ended = deadheat("completions", shell)
    assert (ended.code, ended.err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in ended.out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command = [shell, "-n"]
    done = subprocess.run(command, input=ended.out, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_completes_with_its_script(deadheat: Deadheat) -> None:
    """As the shell does: it calls the function with the words typed so far."""
    script = deadheat("completions", "bash").out
    bin_folder = Path(sys.executable).parent
    typed = "COMP_WORDS=(deadheat comp); COMP_CWORD=1; _deadheat_completion deadheat"
    done = subprocess.run(
        ["bash"],
        input=f'PATH={bin_folder}:$PATH\n{script}\n{typed}; echo "${{COMPREPLY[*]}}"\n',
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["compare", "completions"]


def test_completes_commands_options_and_servers(deadheat: Deadheat) -> None:
    assert deadheat("completions", "bash").code == 0  # sets the catalog of the tests
    assert completed("comp") == ["compare", "completions"]
    assert "--budget" in completed("run", "--bud")
    assert completed("run", "exits-at") == ["exits-at-start"]
    assert completed("verify", "hello", "hell") == ["hello"]


def test_no_catalog_completes_no_server(deadheat: Deadheat) -> None:
    assert deadheat("completions", "bash").code == 0
    assert completed("run", "--catalog", "/nowhere", "he") == []


@pytest.mark.parametrize(
    ("text", "duration_s"),
    [
        ("500ms", 0.5),
        ("5s", 5.0),
        ("2m", 120.0),
        ("1.5h", 5400.0),
        ("2m30s", 150.0),
        ("1h5m", 3900.0),
        ("1s500ms", 1.5),
    ],
)
def test_duration(text: str, duration_s: float) -> None:
    assert DURATION.convert(text, None, None) == pytest.approx(duration_s)


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "30s2m", "2m2m", "2m 30s", "-5s", "5d"])
def test_text_that_is_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a duration such as"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize("text", ["169h", "9" * 400 + "h"])
def test_a_duration_has_at_most_a_week(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected at most 7 days"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize("before", ["run hello --", "run -- ./mine", "regress --base main --"])
def test_bug_completion_behind_two_hyphens_printed_an_error(
    deadheat: Deadheat, before: str
) -> None:
    """The user's command is completed as a file; it offered servers, too."""
    assert deadheat("completions", "bash").code == 0
    shell = ShellComplete(cli, {}, "deadheat", VARIABLE)
    items = shell.get_completions(before.split(), "he")
    assert [(item.type, item.value) for item in items] == [("file", "he")]
