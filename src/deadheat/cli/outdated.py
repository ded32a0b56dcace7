"""`deadheat outdated`: lists the pins of servers that are behind, by the ordinary clients."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from deadheat.catalog import Server
from deadheat.catalog.outdated import RegistryAnswer, ask, recipe_declarations, server_declaration
from deadheat.cli.choice import chosen_servers, open_catalog
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import catalog_option, json_option, language_option, servers_argument
from deadheat.foreign_text import escaped
from deadheat.host.local import LocalHost
from deadheat.numbers import count
from deadheat.output import echo, echo_json

CLIENTS_AT_ONCE = 4
WITHOUT_CLIENT = ("nimble", "quicklisp")  # recipes whose registry deadheat has no client to ask


@listed("outdated")
@servers_argument
@language_option
@flag(
    "--strict",
    section=Topic.MEASUREMENT,
    is_flag=True,
    help="Exit with code 1 if a dependency that no replay needs is behind.",
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
    """Each line has the pinned and the newest version. uv, npm, cargo, go, mvn and mix ask their
    registries about the direct dependencies of each server and of its recipe. A client that is
    missing or gets no answer is named at the end: nothing is known about its dependencies. A server
    that repeats a published comparison is old on purpose.

    \b
    Examples:
      deadheat outdated
      deadheat outdated 'node-*' --strict            for a job that runs every week
    """
    opened = open_catalog(catalog)
    chosen = chosen_servers(opened, servers, languages)
    own = {server.name: server_declaration(server) for server in chosen}
    declarations = [*recipe_declarations(opened.root, chosen), *filter(None, own.values())]
    with (
        LocalHost() as host,
        TemporaryDirectory(prefix="deadheat-outdated-") as scratch,
        ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool,
    ):
        answers = list(pool.map(lambda each: ask(host, each, Path(scratch)), declarations))
    replays = {server.name: _replays(server) for server in chosen}
    unasked = [server.name for server in chosen if own[server.name] is None]
    debian = [name for name in unasked if _only_debian(opened.all_servers[name])]
    if as_json:
        echo_json(
            {
                "behind": [
                    {**asdict(pin), "replays": replays.get(pin.declared_in, [])}
                    for answer in answers
                    for pin in answer.behind
                ],
                "not_reached": [
                    {"declared_in": a.declared_in, "ecosystem": a.ecosystem, "reason": a.fault}
                    for a in answers
                    if a.fault
                ],
                "no_client": [name for name in unasked if name not in debian],
                "no_registry": debian,
            }
        )
    else:
        _print(answers, replays)
        _print_unasked(debian, [name for name in unasked if name not in debian])
    current = any(not replays.get(pin.declared_in) for answer in answers for pin in answer.behind)
    sys.exit(ExitCode.FAILED if strict and current else ExitCode.OK)


def _replays(server: Server) -> list[str]:
    return sorted({row.protocol for row in server.manifest.published})


def _only_debian(server: Server) -> bool:
    """Whether all that it needs comes from Debian's packages or its runtime, and no other lock."""
    return server.manifest.recipe not in WITHOUT_CLIENT and not any(
        path.name.endswith(".lock") for path in server.folder.iterdir()
    )


def _print(answers: Sequence[RegistryAnswer], replays: Mapping[str, Sequence[str]]) -> None:
    for answer in answers:
        for pin in answer.behind:
            reason = ", ".join(replays.get(pin.declared_in, ()))
            note = f"  (replays {reason})" if reason else ""
            echo(f"{pin.declared_in}: {pin.package} {pin.pinned} -> {pin.latest}{note}")
    behind = sum(len(answer.behind) for answer in answers)
    answered = sum(answer.fault is None for answer in answers)
    echo(f"{count(behind, 'pin')} behind; {count(answered, 'declaration')} asked")
    faults = Counter((answer.ecosystem, answer.fault) for answer in answers if answer.fault)
    for (ecosystem, fault), number in sorted(faults.items()):
        echo(f"not reached: {ecosystem}, {count(number, 'declaration')}: {escaped(fault or '')}")


def _print_unasked(debian: Sequence[str], others: Sequence[str]) -> None:
    if debian:
        echo(f"not asked: {count(len(debian), 'server')} without a registry (Debian's packages)")
    if others:
        echo(f"not asked: {', '.join(others)}: no client lists their newer versions")
