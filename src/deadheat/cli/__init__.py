"""The command line: one file per command."""

import difflib
import importlib
import io
import keyword
import sys

import click

from deadheat import __version__
from deadheat.cli.endings import ending_as_interrupts
from deadheat.cli.exit_codes import ExitCode
from deadheat.errors import DeadheatError
from deadheat.output import color, echo

COMMANDS = (
    "run",
    "list",
    "build",
    "verify",
    "new",
    "report",
    "serve",
    "export",
    "import",
    "compare",
    "regress",
    "audit",
    "plan",
    "protocols",
    "workloads",
    "clean",
    "doctor",
    "calibrate",
    "capacity",
    "completions",
)


class _Commands(click.Group):
    """Lists the commands in the order of `COMMANDS`; imports a command's module when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # once `deadheat.cli.list` is imported, `list` here is that module

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = f"{name}_" if keyword.iskeyword(name) else name
        command: click.Command = importlib.import_module(f"deadheat.cli.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if names := difflib.get_close_matches(args[0], COMMANDS):
                raise click.UsageError(
                    f"{error.message} Did you mean {' or '.join(names)}?", ctx
                ) from error
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="deadheat")
def cli() -> None:
    """Race HTTP servers honestly: build, start, verify and load them, and say which differ, by
    how much, and which are a dead heat.

    \b
    deadheat list                          list the servers and what each one needs
    deadheat run go-net-http node-http     race two servers until their order is settled
    deadheat report                        show the last run again
    """


def main() -> None:
    """Entry point. An error that the user can act on prints a message and exits with code 1."""
    try:
        with ending_as_interrupts():
            cli.main(prog_name="deadheat", standalone_mode=False, color=color())
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        echo(message.getvalue(), err=True, newline=False)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.exit(ExitCode.OUTPUT_CLOSED)
    except OSError as error:
        _print_error(
            f"{error.filename or 'the output'}: {error.strerror}",
            "check the path, its permissions and the free disk space",
        )
        sys.exit(ExitCode.FAILED)
    except DeadheatError as error:
        _print_error(str(error), error.hint)
        sys.exit(ExitCode.FAILED)


def _print_error(message: str, hint: str | None) -> None:
    echo("error: ", fg="red", bold=True, newline=False, err=True)
    echo(message, err=True)
    if hint:
        echo("  hint: ", fg="cyan", newline=False, err=True)
        echo(hint, err=True)
