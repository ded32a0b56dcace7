"""The keys of `server.toml` and `recipes/*.toml`. Unknown keys are rejected."""

import datetime
import re
import signal
from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from deadheat.strict import Strict as Strict


def _signal_name(value: str) -> str:
    if value not in signal.Signals.__members__:
        raise ValueError("expected a signal's name, such as SIGTERM")
    return value


def _regex(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"expected a regular expression: {error}") from error
    if groups != 1:
        raise ValueError("expected a regular expression with one group, for the version")
    return value


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("expected a text without NUL: programs cannot get it")
    return value


def _variable(value: str) -> str:
    if not value or "=" in value:
        raise ValueError("expected the name of a variable, not empty and without =")
    return _without_nul(value)


def _date(value: str) -> str:
    datetime.date.fromisoformat(value)  # its ValueError says what is wrong
    return value


def _command(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value[0]:
        raise ValueError("expected a program first")
    return value


CONNECT = "connect"  # hello over a new connection for each request
COUNT_MAX = 1_000_000
WEEK_S = 7 * 24 * 3600.0

Plain = Annotated[str, AfterValidator(_without_nul)]
Command = Annotated[tuple[Plain, ...], Field(min_length=1, strict=False), AfterValidator(_command)]
Env = dict[Annotated[str, AfterValidator(_variable)], Plain]
Count = Annotated[int, Field(ge=1, le=COUNT_MAX)]
Backlog = Annotated[int, Field(ge=0, le=2**31 - 1)]  # of listen(2)
Seconds = Annotated[float, Field(gt=0, le=WEEK_S)]
Pattern = Annotated[str, AfterValidator(_regex)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]  # of a file
Text = Annotated[str, Field(min_length=1), AfterValidator(_without_nul)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Kind = Literal["server", "micro", "full-stack", "static"]
# HTTP/1.1, the same over TLS, HTTP/2 over TLS, HTTP/2 without TLS.
Transport = Literal["http", "https", "h2", "h2c"]
HTTP: Transport = "http"
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
OVER_TLS: frozenset[Transport] = frozenset({"https", "h2"})
HTTP2: frozenset[Transport] = frozenset({"h2", "h2c"})


def answered_by(workloads: tuple[str, ...]) -> tuple[str, ...]:
    """The workloads of a manifest, and `connect`: it needs what hello needs."""
    return (*workloads, CONNECT)


class Need(Strict):
    """A tool that the machine must have: how to probe it, which version, how to install it."""

    tool: Text
    probe: Command
    pattern: Pattern = r"(\d+(?:\.\d+)+)"
    minimum: str | None = None
    below: str | None = None  # the first version that is too new
    install: Text  # a shell command, shown to the user


class Version(Strict):
    """How to get the framework's version from the built server."""

    command: Command
    pattern: Pattern = r"(\d+(?:\.\d+)+\S*)"


class BuildRules(Strict):
    """Commands to run in order in a fresh copy of the server's folder."""

    steps: Annotated[tuple[Command, ...], Field(strict=False)] = ()
    env: Env = Field(default={})
    timeout_s: Seconds | None = None  # of one step; None: the recipe's, or 900


class StartRules(Strict):
    """How to start and stop the server."""

    command: Command
    env: Env = Field(default={})
    worker: Literal["process", "thread", "none"]  # what {workers} counts
    workers: Count = 1
    threads: Count = 1
    ready_s: Seconds = 30
    stop_signal: Annotated[str, AfterValidator(_signal_name)] = "SIGTERM"
    stop_s: Seconds = 10
    keep_alive: bool  # the connection stays open after a response
    connection_close: Literal["closes", "ignores"]  # its response to `Connection: close`
    backlog: Backlog | Literal["system"]  # listen(2)'s argument; "system": somaxconn
    connections_max: Count | Literal["unlimited"] = "unlimited"


class StartChanges(Strict):
    """The differences from `[start]`. None: as there."""

    command: Command | None = None
    env: Env = Field(default={})
    workers: Count | None = None
    threads: Count | None = None
    backlog: Backlog | Literal["system"] | None = None
    connections_max: Count | Literal["unlimited"] | None = None
    keep_alive: bool | None = None
    connection_close: Literal["closes", "ignores"] | None = None


class Setting(StartChanges):
    """A named way to start the server, and why."""

    why: Text


class Published(Strict):
    """A row of a published comparison that this server represents."""

    protocol: Name
    row: Text
    setting: Name = "default"
    differs: Texts = ()  # from what was published: version, interpreter, a build fix


class LanguageRuntime(Strict):
    """What runs the server besides its framework: a JDK. A report shows its version, too."""

    name: Text
    command: Command
    pattern: Pattern = r"(\d+(?:\.\d+)+\S*)"


class Recipe(Strict):
    """What a family of servers shares. The manifest's `with` fills its `{placeholders}`."""

    about: Text
    extends: Name | None = None  # a recipe whose needs, steps and environment come first
    runtime: LanguageRuntime | None = None
    parameters: dict[str, Plain] = Field(default={})  # name -> default
    needs: Annotated[tuple[Need, ...], Field(strict=False)] = ()
    build: BuildRules = BuildRules()
    env: Env = Field(default={})  # for the start command


BY_STRINGS = "strings"  # instead of a template engine: the server's own code builds the page


class Manifest(Strict):
    """`servers/NAME/server.toml`."""

    name: Name
    language: Text
    framework: Text
    kind: Kind
    homepage: Annotated[str, Field(pattern=r"^https?://")]
    recipe: Name | None = None
    parameters: dict[str, Plain] = Field(default={}, alias="with")
    notes: Texts = ()
    media_type: Text = "text/plain"
    slow_start: bool = False  # allow a longer search for the steady state
    verified: str | None = None  # how it was verified, if no package registry has what it needs
    version: Version
    support: dict[Text, Annotated[str, AfterValidator(_date)]] = Field(default={})
    """Part of a version, such as `6.1` or `PyPy 7.3` -> the last day of its upstream's support."""
    needs: Annotated[tuple[Need, ...], Field(strict=False)] = ()
    build: BuildRules = BuildRules()
    start: StartRules
    settings: dict[Name, Setting] = Field(default={})
    transports: dict[Transport, StartChanges] = Field(default={})  # h2 begins as https does
    published: Annotated[tuple[Published, ...], Field(strict=False)] = ()
    workloads: Annotated[tuple[Name, ...], Field(strict=False)] = ("hello",)  # that it answers
    template_engine: Text | None = None  # that renders the workload page; BY_STRINGS without one

    @property
    def answered(self) -> tuple[str, ...]:
        """`workloads`, and what every server answers."""
        return answered_by(self.workloads)

    @model_validator(mode="after")
    def _answers_hello(self) -> Self:
        if "hello" not in self.workloads:
            raise ValueError(
                "workloads: expected 'hello' among them: a server is ready once it answers GET /"
            )
        return self

    @model_validator(mode="after")
    def _check_setting_names(self) -> Self:
        for row in self.published:
            if row.setting != "default" and row.setting not in self.settings:
                raise ValueError(
                    f"published row {row.row!r} names setting {row.setting!r}, "
                    f"but the manifest has {sorted(self.settings) or 'none'}"
                )
        if "default" in self.settings:
            raise ValueError("settings.default is reserved for [start]: use another name")
        if HTTP in self.transports:
            raise ValueError(f"transports.{HTTP} is [start]: expected https, h2 or h2c")
        if taken := set(self.settings).intersection(TRANSPORTS):
            raise ValueError(f"settings.{min(taken)}: expected it as [transports.{min(taken)}]")
        return self


def ended_support(
    support: Mapping[str, str], version: str | None, at: datetime.date
) -> dict[str, str]:
    """The lines of `support` that a version belongs to and that had ended by then.

    A line that is a number begins the version; another, such as `PyPy 7.3`, may be anywhere in it.
    """
    ended = {}
    for line, until in support.items():
        before = "^" if line[:1].isdigit() else r"(?<!\w)"
        belongs = re.search(rf"{before}{re.escape(line)}(?!\w)", version or "")
        if belongs and datetime.date.fromisoformat(until) < at:
            ended[line] = until
    return ended
