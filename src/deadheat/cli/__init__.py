"""The command line: a file for each command, or for a few that belong together."""

import difflib
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from click.shell_completion import CompletionItem

from deadheat import __version__
from deadheat.cli.endings import ExitCode, end_at_lost_threads, ending_as_interrupts, shortage
from deadheat.errors import DeadheatError, LinkLost, Unmeasurable, UsageFault
from deadheat.output import color, echo, open_closed_outputs, print_error

GROUPS = {
    "Daily": {
        "run": "Race servers until their order is settled, and rank them.",
        "resume": "Continue a run that ended early, or give it more time.",
        "report": "Show a stored run.",
        "compare": "Compare two stored runs, or two contenders of one run.",
        "list": "List the servers: built, ready, or what is missing.",
        "explain": "Say why one server needs more CPU time than another.",
        "plan": "Print what a run would do, and how long it takes.",
        "doctor": "Check this machine for what disturbs measurements.",
    },
    "Other races": {
        "regress": "Race two revisions of a server: is the new one slower?",
        "footprint": "Measure what servers take up: start, memory, build.",
        "capacity": "Find the highest rate at which a latency objective holds.",
        "cluster": "Race servers on many pairs of hosts, and rank them.",
    },
    "Pages and files": {
        "serve": "Show the stored runs as web pages, also a run in progress.",
        "board": "Race all servers, or write the board: servers by workloads.",
        "export": "Write a run to a bundle: one file with all its data.",
        "import": "Add the runs of a bundle to the store.",
    },
    "Servers, protocols and workloads": {
        "build": "Build servers from their lock files, several in parallel.",
        "verify": "Start servers, check their responses, and stop them.",
        "new": "Create the folder of a new server from an existing one.",
        "protocols": "List the protocols, each with what it measures.",
        "workloads": "List the workloads, or show the requests of some.",
    },
    "This machine": {
        "clean": "Delete logs, builds and old runs.",
        "completions": "Print the script that completes commands in a shell.",
    },
    "For maintainers": {
        "audit": "Audit published figures, of a replay or of a live board.",
        "calibrate": "Race copies of a server to test this machine's answers.",
        "containerfile": "Print a Containerfile that builds and starts a server.",
        "outdated": "List dependencies of servers that have a newer version.",
    },
}
SUMMARIES = {name: text for group in GROUPS.values() for name, text in group.items()}
MODULES = {  # of commands that share one: there `plan` is `plan_command`; others are `command`
    **dict.fromkeys(("plan", "explain", "footprint"), "run"),
    **dict.fromkeys(("build", "new", "outdated", "containerfile"), "servers"),
    **dict.fromkeys(("export", "import", "clean"), "stored"),
    **{"compare": "report", "protocols": "workloads", "completions": "help"},
}


@contextmanager
def _ending_without_reader() -> Iterator[None]:
    """Exit with 141 if the reader of the output has closed it; click would exit with 1."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is buffered
        sys.exit(ExitCode.OUTPUT_CLOSED)


class _Commands(click.Group):
    """Lists the commands in the order of `GROUPS`; imports a command's module when it is used."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        with _ending_without_reader():  # --help and --version print here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _ending_without_reader():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*SUMMARIES]  # once `deadheat.cli.list` is imported, `list` here is that module

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in SUMMARIES:
            return None
        module = importlib.import_module(f"deadheat.cli.{MODULES.get(name, name)}")
        command: click.Command = getattr(module, f"{name}_command", None) or module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, SUMMARIES))
        for heading, summaries in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:{longest}}", text) for name, text in summaries.items()]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            *(
                CompletionItem(name, help=summary)
                for name, summary in SUMMARIES.items()
                if name.startswith(incomplete)
            ),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if names := difflib.get_close_matches(args[0], SUMMARIES):
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
    """Entry point. An error that the user can act on prints a message; exit codes: `ExitCode`."""
    open_closed_outputs()
    end_at_lost_threads()
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
    except (OSError, MemoryError, RuntimeError, ImportError) as error:
        words = shortage(error)
        if words is None and isinstance(error, OSError):
            words = (
                f"{error.filename or 'the output'}: {error.strerror}",
                "check the path, its permissions and the free disk space",
            )
        if words is None:
            raise
        print_error(*words)
        sys.exit(ExitCode.FAILED)
    except LinkLost as error:
        print_error(str(error), error.hint)
        sys.exit(ExitCode.FAILED)
    except DeadheatError as error:
        print_error(str(error), error.hint)
        sys.exit(_code_of(error))


def _code_of(error: DeadheatError) -> ExitCode:
    """A message that begins with an option or with RUN is about its value."""
    if isinstance(error, Unmeasurable):
        return ExitCode.UNMEASURABLE
    is_usage = isinstance(error, UsageFault) or str(error).startswith(("-", "RUN "))
    return ExitCode.USAGE if is_usage else ExitCode.FAILED
