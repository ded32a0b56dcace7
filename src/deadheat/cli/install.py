"""Runs the install commands that `deadheat list` shows."""

import os
from collections.abc import Iterable, Sequence

from deadheat.catalog import Server, Toolchains, missing
from deadheat.errors import DeadheatError
from deadheat.foreign_text import escaped
from deadheat.host import Completed, Host, ProcessSpec
from deadheat.output import echo

INSTALL_TIMEOUT_S = 1800.0
UPDATE = "apt-get update"


def install_missing(host: Host, servers: Sequence[Server]) -> None:
    """Print and run the install command of each missing need, each command once.

    The first is `apt-get update`, if one of them uses apt-get: without it, a fresh system knows no
    packages. A failed update is reported only if an install fails too, because one broken source
    makes it fail. Raises `DeadheatError` with the last lines of output of a command that fails.
    """
    toolchains = Toolchains(host)
    commands = dict.fromkeys(
        probe.need.install for server in servers for probe in missing(toolchains.check(server))
    )
    if needs_update(commands) and _run(host, UPDATE).exit_code != 0:
        echo(f"warning: `{UPDATE}` failed", err=True)
    for command in commands:
        completed = _run(host, command)
        if completed.exit_code != 0:
            tail = "\n".join((completed.stdout + completed.stderr).splitlines()[-10:])
            raise DeadheatError(
                f"--install: `{command}` ended with exit code {completed.exit_code}\n{tail}",
                None if os.geteuid() == 0 else "install commands need root: run them with sudo",
            )


def needs_update(commands: Iterable[str]) -> bool:
    """Whether one of the commands installs Debian packages."""
    return any("apt-get install" in command for command in commands)


def _run(host: Host, command: str) -> Completed:
    echo(f"installing: {escaped(command)}", err=True)
    return host.run(ProcessSpec(["sh", "-c", command]), INSTALL_TIMEOUT_S)
