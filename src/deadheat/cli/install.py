"""Runs the install commands that `deadheat list` shows."""

from collections.abc import Sequence

from deadheat.catalog import Server, Toolchains, missing
from deadheat.errors import DeadheatError
from deadheat.foreign_text import escaped
from deadheat.host import Host, ProcessSpec
from deadheat.output import echo

INSTALL_TIMEOUT_S = 1800.0


def install_missing(host: Host, servers: Sequence[Server]) -> None:
    """Print and run the install command of each missing need, each command once.

    Raises `DeadheatError` with the last lines of output of a command that fails.
    """
    toolchains = Toolchains(host)
    commands = dict.fromkeys(
        probe.need.install for server in servers for probe in missing(toolchains.check(server))
    )
    for command in commands:
        echo(f"installing: {escaped(command)}", err=True)
        completed = host.run(ProcessSpec(["sh", "-c", command]), INSTALL_TIMEOUT_S)
        if completed.exit_code != 0:
            tail = "\n".join((completed.stdout + completed.stderr).splitlines()[-10:])
            raise DeadheatError(
                f"--install: `{command}` ended with exit code {completed.exit_code}\n{tail}"
            )
