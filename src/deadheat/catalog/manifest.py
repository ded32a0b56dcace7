"""The keys of `server.toml` and `recipes/*.toml`. Unknown keys are rejected."""

import re
import signal
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """A frozen model that rejects other types and unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _signal_name(value: str) -> str:
    if value not in signal.Signals.__members__:
        raise ValueError("expected a signal's name, such as SIGTERM")
    return value


def _regex(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from error
    if groups != 1:
        raise ValueError("expected a regular expression with one group, for the version")
    return value


Command = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
Pattern = Annotated[str, AfterValidator(_regex)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Kind = Literal["server", "micro", "full-stack", "static"]


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


class Build(Strict):
    """Commands to run in order in a fresh copy of the server's folder."""

    steps: Annotated[tuple[Command, ...], Field(strict=False)] = ()
    env: dict[str, str] = {}
    timeout_s: float | None = Field(default=None, gt=0)  # of one step; None: the recipe's, or 900


class Start(Strict):
    """How to start and stop the server."""

    command: Command
    env: dict[str, str] = {}
    worker: Literal["process", "thread", "none"]  # what {workers} counts
    workers: int = Field(default=1, ge=1)
    threads: int = Field(default=1, ge=1)
    ready_s: float = Field(default=30, gt=0)
    stop_signal: Annotated[str, AfterValidator(_signal_name)] = "SIGTERM"
    stop_s: float = Field(default=10, gt=0)
    keep_alive: bool  # the connection stays open after a response
    connection_close: Literal["closes", "ignores"]  # its response to `Connection: close`
    backlog: int | Literal["system"]  # listen(2)'s argument; "system": somaxconn
    connections_max: int | Literal["unlimited"] = "unlimited"


class Setting(Strict):
    """A named way to start the server: the differences from `[start]`, and why."""

    why: Text
    command: Command | None = None
    env: dict[str, str] = {}
    workers: int | None = Field(default=None, ge=1)
    threads: int | None = Field(default=None, ge=1)
    backlog: int | Literal["system"] | None = None
    connections_max: int | Literal["unlimited"] | None = None
    keep_alive: bool | None = None
    connection_close: Literal["closes", "ignores"] | None = None


class Published(Strict):
    """A row of a published comparison that this server represents."""

    protocol: Name
    row: Text
    setting: Name = "default"
    differs: Texts = ()  # from what was published: version, interpreter, a build fix


class Recipe(Strict):
    """What a family of servers shares. The manifest's `with` fills its `{placeholders}`."""

    about: Text
    parameters: dict[str, str] = {}  # name -> default
    needs: Annotated[tuple[Need, ...], Field(strict=False)] = ()
    build: Build = Build()
    env: dict[str, str] = {}  # for the start command


class Manifest(Strict):
    """`servers/NAME/server.toml`."""

    name: Name
    language: Text
    framework: Text
    kind: Kind
    homepage: Annotated[str, Field(pattern=r"^https?://")]
    recipe: Name | None = None
    parameters: Annotated[dict[str, str], Field(alias="with")] = {}
    notes: Texts = ()
    media_type: Text = "text/plain"
    slow_start: bool = False  # allow a longer search for the steady state
    verified: str | None = None  # how it was verified, if no package registry has what it needs
    version: Version
    needs: Annotated[tuple[Need, ...], Field(strict=False)] = ()
    build: Build = Build()
    start: Start
    settings: dict[Name, Setting] = {}
    published: Annotated[tuple[Published, ...], Field(strict=False)] = ()

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
        return self
