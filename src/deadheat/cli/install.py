"""Running the commands that `deadheat list` only shows."""

from collections.abc import Sequence

import click

from deadheat.catalog import Server, Toolchains, missing
from deadheat.errors import DeadheatError
from deadheat.host import Host, ProcessSpec

INSTALL_TIMEOUT_S = 1800.0


def install_missing(host: Host, servers: Sequence[Server]) -> None:
    """Run each missing need's install command once, told beforehand.

    Raises `DeadheatError` with the last lines of one that fails.
    """
    toolchains = Toolchains(host)
    commands = dict.fromkeys(
        probe.need.install for server in servers for probe in missing(toolchains.check(server))
    )
    for command in commands:
        click.echo(f"installing: {command}", err=True)
        done = host.run(ProcessSpec(["sh", "-c", command]), INSTALL_TIMEOUT_S)
        if done.exit_code != 0:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
            raise DeadheatError(f"--install: `{command}` ended with {done.exit_code}\n{tail}")
