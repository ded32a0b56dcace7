"""`deadheat outdated`: lists the pins of servers that are behind, by the ordinary clients."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from deadheat.catalog import Server
from deadheat.catalog.outdated import Answer, ask, ecosystem_of
from deadheat.cli.exit_codes import ExitCode
from deadheat.cli.options import catalog_option, json_option
from deadheat.cli.server_names import complete_servers
from deadheat.cli.workbench import chosen_servers, open_catalog
from deadheat.foreign_text import escaped
from deadheat.host.local import LocalHost
from deadheat.output import echo, echo_json
from deadheat.report.format import count

CLIENTS_AT_ONCE = 4


@click.command("outdated")
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@click.option(
    "--strict", is_flag=True, help="Exit with code 1 if a pin is behind that no replay needs."
)
@catalog_option
@json_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    strict: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """List the pins of servers that are behind.

    Each has the newest version beside it.

    uv, npm, cargo, go, mvn and mix ask their registries about the direct dependencies of each
    server. A client that is missing or gets no answer is named at the end, so no row is not the
    same as no newer version. A server that repeats a published comparison is old on purpose.

    \b
    Examples:
      deadheat outdated
      deadheat outdated 'node-*' --strict            for a job that runs every week
    """
    chosen = chosen_servers(open_catalog(catalog), servers, languages)
    kinds = {server.name: ecosystem_of(server) for server in chosen}
    with (
        LocalHost() as host,
        TemporaryDirectory(prefix="deadheat-outdated-") as scratch,
        ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool,
    ):
        answers = list(
            pool.map(
                lambda pair: ask(host, pair[0], pair[1], Path(scratch)),
                [(server, kind) for server in chosen if (kind := kinds[server.name]) is not None],
            )
        )
    replays = {server.name: _replays(server) for server in chosen}
    unasked = [server.name for server in chosen if kinds[server.name] is None]
    if as_json:
        echo_json(
            {
                "behind": [
                    {**asdict(pin), "replays": replays[pin.server]}
                    for answer in answers
                    for pin in answer.behind
                ],
                "not_reached": [
                    {"server": a.server, "ecosystem": a.ecosystem, "reason": a.fault}
                    for a in answers
                    if a.fault
                ],
                "no_registry": unasked,
            }
        )
    else:
        _print(answers, replays, unasked)
    current = any(not replays[pin.server] for answer in answers for pin in answer.behind)
    sys.exit(ExitCode.FAILED if strict and current else ExitCode.OK)


def _replays(server: Server) -> list[str]:
    return sorted({row.protocol for row in server.manifest.published})


def _print(
    answers: Sequence[Answer], replays: Mapping[str, Sequence[str]], unasked: Sequence[str]
) -> None:
    for answer in answers:
        for pin in answer.behind:
            reason = ", ".join(replays[pin.server])
            note = f"  (replays {reason})" if reason else ""
            echo(f"{pin.server}: {pin.package} {pin.pinned} -> {pin.latest}{note}")
    behind = sum(len(answer.behind) for answer in answers)
    answered = sum(answer.fault is None for answer in answers)
    echo(f"{count(behind, 'pin')} behind in {count(answered, 'server')}")
    faults = Counter((answer.ecosystem, answer.fault) for answer in answers if answer.fault)
    for (ecosystem, fault), number in sorted(faults.items()):
        echo(f"not reached: {ecosystem}, {count(number, 'server')}: {escaped(fault or '')}")
    if unasked:
        echo(f"not asked: {count(len(unasked), 'server')} without a registry (Debian's packages)")
