"""The command line: one file per command."""

import difflib
import importlib
import keyword
import sys

import click
from click.shell_completion import CompletionItem

from deadheat import __version__
from deadheat.cli.endings import ending_as_interrupts
from deadheat.cli.exit_codes import ExitCode
from deadheat.cli.summaries import SUMMARIES
from deadheat.errors import DeadheatError, LinkLost, Unmeasurable
from deadheat.output import color, echo, print_error

SECTIONS = {
    "Races": ("run", "plan", "regress", "capacity", "cluster"),
    "Results": ("report", "compare", "audit", "serve", "site", "export", "import"),
    "Servers": ("list", "build", "verify", "new", "containerfile", "outdated"),
    "Protocols and workloads": ("protocols", "workloads"),
    "This machine": ("doctor", "calibrate", "clean", "completions"),
}
COMMANDS = tuple(name for names in SECTIONS.values() for name in names)


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, COMMANDS))
        width = formatter.width - 6 - longest
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                rows = [(name, self._summary(ctx, name, width)) for name in names]
                formatter.write_dl([(name.ljust(longest), summary) for name, summary in rows])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [
            *(CompletionItem(name, help=self._summary(ctx, name)) for name in names),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def _summary(self, ctx: click.Context, name: str, width: int = 45) -> str:
        if name in SUMMARIES:
            return click.Command(name, help=SUMMARIES[name]).get_short_help_str(width)
        command = self.get_command(ctx, name)
        return command.get_short_help_str(width) if command else ""

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
    deadheat list                        list the servers and what each one needs
    deadheat run go-net-http node-http   race two servers until their order is settled
    deadheat run -- ./mine {port}        measure a server of your own
    deadheat report                      show the last run again
    """


def main() -> None:
    """Entry point. An error that the user can act on prints a message and exits with code 1."""
    try:
        with ending_as_interrupts():
            cli.main(prog_name="deadheat", standalone_mode=False, color=color())
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context else "deadheat"
        print_error(error.format_message(), f"`{command} --help` lists the options")
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.exit(ExitCode.OUTPUT_CLOSED)
    except OSError as error:
        print_error(
            f"{error.filename or 'the output'}: {error.strerror}",
            "check the path, its permissions and the free disk space",
        )
        sys.exit(ExitCode.FAILED)
    except LinkLost as error:
        print_error(str(error), error.hint)
        sys.exit(ExitCode.FAILED)
    except DeadheatError as error:
        print_error(str(error), error.hint)
        unmeasurable = isinstance(error, Unmeasurable)
        sys.exit(ExitCode.UNMEASURABLE if unmeasurable else ExitCode.FAILED)
