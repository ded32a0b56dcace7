"""The command line: one file a command."""

import difflib
import importlib
import keyword
import os
import sys

import click

from deadheat import __version__
from deadheat.errors import DeadheatError

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
    "doctor",
    "calibrate",
    "capacity",
)


class _Commands(click.Group):
    """Commands in the order a newcomer meets them; a command's module is read when it is asked."""

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
            if near := difflib.get_close_matches(args[0], COMMANDS):
                raise click.UsageError(
                    f"{error.message} Did you mean {' or '.join(near)}?", ctx
                ) from error
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="deadheat")
def cli() -> None:
    """Race HTTP servers honestly: build, start, verify and load them, and say which differ, by
    how much, and which are a dead heat.

    \b
    deadheat list                          what can run here, and what is missing
    deadheat run go-net-http node-http     race two servers until the order is settled
    deadheat report                        the last run again, from the store
    """


def main() -> None:
    """Entry point: a fault that the user can act on is one message and exit code 1."""
    try:
        cli.main(prog_name="deadheat", standalone_mode=False, color=_styles())
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except OSError as error:
        _tell(f"{error.filename or 'the output'}: {error.strerror}", "make room, or name another")
        sys.exit(1)
    except DeadheatError as error:
        _tell(str(error), error.hint)
        sys.exit(1)


def _tell(fault: str, way_out: str | None) -> None:
    click.secho("error: ", fg="red", bold=True, nl=False, err=True, color=_styles())
    click.echo(fault, err=True)
    if way_out:
        click.secho("  way out: ", fg="cyan", nl=False, err=True, color=_styles())
        click.echo(way_out, err=True)


def _styles() -> bool | None:
    """False where NO_COLOR asks for plain text, bold included; None leaves it to the terminal."""
    return False if os.environ.get("NO_COLOR") else None
