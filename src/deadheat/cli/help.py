"""The help of every command: options in the same order and sections everywhere, examples last."""

import inspect
from collections.abc import Iterator
from typing import Any

import click

SECTIONS = {
    "Servers": (
        *("base", "head", "build", "like", "copies", "language", "setting", "workers", "all"),
        *("shared", "url", "path", "any-body"),
    ),
    "Load": ("workload", "slo", "connections", "close", "generator", "load-threads"),
    "Measurement": (
        *("protocol", "budget", "margin", "duration", "repetitions", "invocations", "races"),
        *("together", "latency", "load", "freeze", "strict", "duration-scale", "no-request-cap"),
        *("seed", "wait-quiet", "asleep"),
    ),
    "Stored runs": (
        *("resume", "more", "from", "in", "against", "import", "curl", "list"),
        *("logs", "builds", "runs-older-than"),
    ),
    "Builds": ("install", "jobs", "build-timeout", "runtime", "base-image"),
    "Limits": ("memory-limit", "process-limit", "log-limit", "isolate"),
    "Other machines": (
        *("server-host", "load-host", "server-address", "link-wait", "address", "ssh-user"),
    ),
    "Output": (
        *("format", "picture", "of", "all-series", "output", "page", "comment", "junit"),
        *("json", "verbose"),
    ),
    "Other": ("port", "host", "yes", "catalog", "store", "help"),
}
PLACES = [(section, flag) for section, flags in SECTIONS.items() for flag in flags]
FLAT_MAX = 12  # options that are listed without sections
COLUMN_MAX = 30  # of the flags; the help of a longer one begins on the next line
EXAMPLES = "\b\nExample"


class _ExamplesLast(click.Command):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        text, mark, examples = inspect.cleandoc(self.help or "").partition(EXAMPLES)
        self.help = text.rstrip()
        self.epilog = mark + examples if mark else self.epilog


class CommandGroup(_ExamplesLast, click.Group):
    """A command of commands; `Command` describes its help."""


class Command(_ExamplesLast):
    """A command whose options are listed in the order of `SECTIONS`, with headings if many."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = sorted(self._rows(ctx), key=lambda row: PLACES.index(row[0]))
        width = min(max(len(flags) for _, flags, _ in rows), COLUMN_MAX)
        headings = {place: place[0] if len(rows) > FLAT_MAX else "Options" for place, _, _ in rows}
        for heading in dict.fromkeys(headings.values()):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (flags.ljust(width), text)
                        for place, flags, text in rows
                        if headings[place] == heading
                    ],
                    COLUMN_MAX,
                )

    def _rows(self, ctx: click.Context) -> Iterator[tuple[tuple[str, str], str, str]]:
        """For each option: its place in `PLACES`, its flags with the value, and its help text."""
        place_of = {flag: (section, flag) for section, flag in PLACES}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                yield place_of[max(param.opts, key=len).removeprefix("--")], *record
