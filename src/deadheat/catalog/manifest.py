"""What `server.toml` and `recipes/*.toml` may say. Unknown keys are refused."""

import re
import signal
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """Frozen, and strict about types and unknown keys."""

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
        raise ValueError("expected a regular expression with one group, which is the version")
    return value


Command = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
Pattern = Annotated[str, AfterValidator(_regex)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Kind = Literal["server", "micro", "full-stack", "static"]


class Need(Strict):
    """A tool the machine must have: how to ask for it, from which version, how to get it."""

    tool: Text
    probe: Command
    pattern: Pattern = r"(\d+(?:\.\d+)+)"
    minimum: str | None = None
    below: str | None = None  # the first version that no longer serves
    install: Text  # a command line for a shell, shown as it is


class Version(Strict):
    """How to ask the built server which version of the framework is inside."""

    command: Command
    pattern: Pattern = r"(\d+(?:\.\d+)+\S*)"


class Build(Strict):
    """Commands run in a fresh copy of the server's folder, in order."""

    steps: Annotated[tuple[Command, ...], Field(strict=False)] = ()
    env: dict[str, str] = {}
    timeout_s: float | None = Field(default=None, gt=0)  # of one step; None: the recipe's, or 900


class Start(Strict):
    """How the server is run."""

    command: Command
    env: dict[str, str] = {}
    worker: Literal["process", "thread", "none"]  # what one of {workers} is
    workers: int = Field(default=1, ge=1)
    threads: int = Field(default=1, ge=1)
    ready_s: float = Field(default=30, gt=0)
    stop_signal: Annotated[str, AfterValidator(_signal_name)] = "SIGTERM"
    stop_s: float = Field(default=10, gt=0)
    keep_alive: bool  # what it does with a connection after a response
    connection_close: Literal["closes", "ignores"]  # what it does when asked to close
    backlog: int | Literal["system"]  # listen(2)'s argument; "system": somaxconn
    connections_max: int | Literal["unlimited"] = "unlimited"


class Setting(Strict):
    """A named way to start the same server: what differs from `[start]`, and why."""

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
    """A row of a published comparison that this server stands for."""

    protocol: Name
    row: Text
    setting: Name = "default"
    differs: Texts = ()  # from what was published: version, interpreter, a build fix


class Recipe(Strict):
    """What the servers of a family share; `{placeholders}` are filled from a manifest's `with`."""

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
    slow_start: bool = False  # a hint: the search for steady state may take longer
    verified: str | None = None  # how a recipe was tried that no registry here can install
    version: Version
    needs: Annotated[tuple[Need, ...], Field(strict=False)] = ()
    build: Build = Build()
    start: Start
    settings: dict[Name, Setting] = {}
    published: Annotated[tuple[Published, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _refers_to_what_it_has(self) -> Self:
        for row in self.published:
            if row.setting != "default" and row.setting not in self.settings:
                raise ValueError(
                    f"published row {row.row!r} names setting {row.setting!r}, "
                    f"but the manifest has {sorted(self.settings) or 'none'}"
                )
        if "default" in self.settings:
            raise ValueError("settings.default is what [start] says; give this one another name")
        return self
