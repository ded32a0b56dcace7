"""Commands and their flags: in the same sections in the help of every command, examples last."""

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

from deadheat.cli import SUMMARIES
from deadheat.errors import DeadheatError, UsageFault, joined
from deadheat.output import echo

FLAT_MAX = 12  # options that are listed without sections
COLUMN_MAX = 30  # of the flags; the help of a longer one begins on the next line
EXAMPLES = "\b\nExample"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Topic(StrEnum):
    """The sections of a help, in their order. Flags of one are in the order of declaration."""

    SERVERS = "Servers"
    LOAD = "Load"
    MEASUREMENT = "Measurement"
    STORED_RUNS = "Stored runs"
    BUILDS = "Builds"
    LIMITS = "Limits"
    MACHINES = "Other machines"
    OUTPUT = "Output"
    OTHER = "Other"


class Flag(click.Option):
    """An option that knows its section of the help.

    `bare` is its value if it is given without one; a value then follows `=`.
    """

    def __init__(
        self, *args: Any, section: Topic, bare: str | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self.section = section
        self.bare = bare

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Keep the fault of a value for later: the other values may have some, too."""
        try:
            return super().handle_parse_result(ctx, opts, args)
        except click.UsageError as error:
            if not isinstance(ctx.command, Command):
                raise
            faults_in(ctx).append(error)
            return None, args


def faults_in(ctx: click.Context) -> list[click.UsageError | DeadheatError]:
    """What is wrong with the command line, as far as it was read."""
    faults: list[click.UsageError | DeadheatError] = ctx.meta.setdefault("faults", [])
    return faults


def require_no_faults(ctx: click.Context) -> None:
    """Raises all faults of the command line as one error, unknown servers among them."""
    if not (faults := faults_in(ctx)):
        return
    if "servers" in ctx.params:
        faults += _unknown_names(ctx.params)
    if len(faults) == 1:
        raise faults[0]
    shown = [
        fault if isinstance(fault, DeadheatError) else UsageFault(fault.format_message())
        for fault in faults
    ]
    of_click = any(isinstance(fault, click.UsageError) for fault in faults)
    raise joined(shown, f"`{ctx.command_path} --help` lists the options" if of_click else None)


def _unknown_names(options: Mapping[str, Any]) -> list[DeadheatError]:
    from deadheat.catalog import choose, find_root, load_catalog  # a right line needs it later

    names, languages = (options.get(name) or () for name in ("servers", "languages"))
    try:
        names = [name.partition(":")[0] for name in names]  # without a setting
        choose(load_catalog(find_root(options.get("catalog"))), names, languages)
    except DeadheatError as error:
        return [error]
    return []


def flag(*names: str, section: Topic, **attributes: Any) -> Decorator:
    """Declare a `Flag`; the other attributes are those of `click.option`."""
    return click.option(*names, cls=Flag, section=section, **attributes)


class _ExamplesLast(click.Command):
    """`summary` is the first paragraph of the help, for a command of `SUMMARIES`."""

    def __init__(self, *args: Any, summary: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        text, mark, examples = inspect.cleandoc(self.help or "").partition(EXAMPLES)
        self.help = "\n\n".join(filter(None, (summary, text.strip())))
        self.epilog = mark + examples if mark else self.epilog


class CommandGroup(_ExamplesLast, click.Group):
    """A command of commands; `Command` describes its help."""


class Command(_ExamplesLast):
    """A command whose options are listed by `Topic`, with headings if there are many."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[Topic, list[tuple[str, str]]] = {section: [] for section in Topic}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                rows[param.section if isinstance(param, Flag) else Topic.OTHER].append(record)
        listed = [row for several in rows.values() for row in several]
        width = min(max(len(flags) for flags, _ in listed), COLUMN_MAX)
        headed = rows if len(listed) > FLAT_MAX else {"Options": listed}
        for heading, several in headed.items():
            if several:
                with formatter.section(str(heading)):
                    aligned = [(flags.ljust(width), text) for flags, text in several]
                    formatter.write_dl(aligned, COLUMN_MAX)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        flags = [param for param in self.params if isinstance(param, Flag) and param.bare]
        valued = {name: f"{name}={each.bare}" for each in flags for name in each.opts}
        words: list[str] | None = [valued.get(word, word) for word in args]
        rest: list[str] = []
        faults = faults_in(ctx)
        while words is not None:
            given, words = words, None
            try:
                rest = super().parse_args(ctx, [*given])
            except click.UsageError as error:
                faults.append(self.fault_of(error))
                words = self._without(given, error)
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if value == "" or (isinstance(value, tuple) and "" in value):
                faults.append(click.BadParameter("it is empty; expected a value", ctx, param))
        if not ctx.resilient_parsing:
            require_no_faults(ctx)
        return rest

    def fault_of(self, error: click.UsageError) -> click.UsageError | DeadheatError:
        """A fault as this command reports it."""
        return error

    def _without(self, words: list[str], error: click.UsageError) -> list[str] | None:
        """The words without an unknown option and what may be its value; None for other faults."""
        if not isinstance(error, click.NoSuchOption):
            return None
        named = [word.partition("=")[0] for word in words]
        if error.option_name not in named:
            return None
        at = named.index(error.option_name)
        near = (error.possibilities or [""])[0]
        is_flag = any(
            near in param.opts and isinstance(param, click.Option) and param.is_flag
            for param in self.params
        )
        value = words[at + 1 : at + 2]
        has_value = "=" not in words[at] and not is_flag and value and not value[0].startswith("-")
        return words[:at] + words[at + (2 if has_value else 1) :]


class WithCommand(Command):
    """A command that keeps the words behind `--` in `ctx.meta["own"]`: the user's command.

    None: there is no `--`.
    """

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["own"] = None
        if "--" in args:
            at = args.index("--")
            ctx.meta["own"] = args[at + 1 :]
            args = args[:at]
            if not (ctx.resilient_parsing or any(ctx.meta["own"][:1])):
                raise click.UsageError("--: expected a command behind it, such as ./my-server", ctx)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return files_of_own(ctx, incomplete) or super().shell_complete(ctx, incomplete)


def files_of_own(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Lets the shell complete a file, if the word is behind `--`."""
    behind = ctx.meta.get("own") is not None
    return [CompletionItem(incomplete, type="file")] if behind else []


def listed(
    name: str, cls: type[Command] = Command
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command of `deadheat --help`; its own help begins with the summary there."""
    return click.command(name, cls=cls, summary=SUMMARIES[name])


SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
VARIABLE = "_DEADHEAT_COMPLETE"


@listed("completions")
@click.argument("shell", type=click.Choice([*SHELLS]))
@click.pass_context
def completions_command(ctx: click.Context, shell: str) -> None:
    """It completes commands, options and the names of servers. Write it to the place where your
    shell looks for completions, and start a new shell.

    \b
    Examples:
      deadheat completions bash > ~/.local/share/bash-completion/completions/deadheat
      deadheat completions zsh > "${fpath[1]}/_deadheat"
      deadheat completions fish > ~/.config/fish/completions/deadheat.fish
    """
    program = ctx.find_root().info_name or "deadheat"
    # The source itself: click's own entry would start bash to ask for its version.
    script = SHELLS[shell](ctx.find_root().command, {}, program, VARIABLE)
    echo(script.source_template % script.source_vars())
