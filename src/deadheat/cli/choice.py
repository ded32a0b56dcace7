"""The servers of the catalog that a command line chooses."""

import fnmatch
from collections.abc import Iterable, Sequence

from deadheat.campaign.schedule import Lineup, line_up
from deadheat.catalog import Catalog, Selection, Server, choose, find_root, load_catalog, selection
from deadheat.catalog.manifest import HTTP
from deadheat.catalog.toml_lines import FileFault
from deadheat.cli.list import rows_of
from deadheat.errors import DeadheatError, UsageFault, joined
from deadheat.output import echo
from deadheat.protocol import AloneProtocol, Protocol
from deadheat.protocol.figures import shipped_figures
from deadheat.workload import parts_of

OWN_ALONE = (
    "expected a server of the catalog",
    "omit it: the command of your own server says how it starts",
)


def open_catalog(folder: str | None) -> Catalog:
    """The catalog of --catalog, or the default one."""
    return load_catalog(find_root(folder))


def chosen_servers(
    catalog: Catalog, patterns: Sequence[str] = (), languages: Sequence[str] = ()
) -> list[Server]:
    """The servers that match. Without patterns, warns about each manifest with an error."""
    if not patterns:
        for fault in catalog.faults.values():
            echo(f"left out: {fault}", fg="yellow", err=True)
    return choose(catalog, patterns, languages)


def at_settings(
    catalog: Catalog, patterns: Sequence[str], languages: Sequence[str], setting: str
) -> list[tuple[Server, str]]:
    """The servers that match, each with the setting behind its colon, or else with `setting`.

    `go-gin` and `go-gin:multicore` are one server in two settings.
    """
    words = [pattern.partition(":") for pattern in patterns]
    matching = chosen_servers(catalog, [name for name, _, _ in words], languages)
    chosen = {
        (server.name, own if colon else setting): server
        for name, colon, own in words or [("*", "", "")]
        for server in matching
        if fnmatch.fnmatchcase(server.name, name)
    }
    return [(server, named) for (_, named), server in chosen.items()]


def selections_of(
    chosen: Iterable[tuple[Server, str]], workers: Sequence[int | None] = (None,)
) -> list[Selection]:
    """Each server in its setting, with each number of workers; None: as the setting says.

    Raises `UsageFault` with every server that lacks its setting or the workers.
    """
    selections, faults = [], {}
    for server, setting in chosen:
        for count in workers:
            try:
                selections.append(selection(server, setting, count))
            except FileFault as fault:
                faults[server.name] = fault
    if faults:
        raise joined([*faults.values()])
    return selections


def ready_here(servers: Sequence[Server]) -> list[Server]:
    """Those that `deadheat list` calls ready; says which are left out.

    Raises `DeadheatError` if none is.
    """
    ready = {row.name for row in rows_of(servers) if row.ready}
    if left_out := [server.name for server in servers if server.name not in ready]:
        why = "`deadheat list` says what they lack"
        if not ready:
            raise DeadheatError("no server is ready here", why)
        echo(f"left out, not ready here: {', '.join(left_out)}; {why}", fg="yellow", err=True)
    return [server for server in servers if server.name in ready]


def answering(selections: Sequence[Selection], protocol: Protocol) -> list[Selection]:
    """Each server on each transport, where it answers some workload; says what is left out.

    Raises `DeadheatError` for a workload or a transport of which all of some servers lack it.
    """
    servers = list({each.server.name: each.server for each in selections}.values())
    spoken = over_transports(selections, protocol)
    for name in protocol.workload_names:
        missing = lacking(servers, spoken, name)
        workload, transport = parts_of(name)
        if missing and len(missing) == len(servers):
            option = f"--workload {workload}" if transport == HTTP else f"--transport {transport}"
            raise DeadheatError(
                f"{option}: none of the chosen servers answers it: {', '.join(missing)}",
                "`deadheat list --json` shows the workloads and transports of each server",
            )
        if missing:
            what = f"the workload {name}" if transport == HTTP else name
            echo(f"left out, without {what}: {', '.join(missing)}", fg="yellow", err=True)
    names = set(protocol.requested)
    return [each for each in spoken if names & set(each.server.manifest.answered)]


def over_transports(selections: Sequence[Selection], protocol: Protocol) -> list[Selection]:
    """Each server on each transport of the protocol that it speaks.

    Raises `DeadheatError` if a setting is chosen, too; a transport is none.
    """
    for each in selections:
        if each.transport != HTTP:
            raise UsageFault(
                f"{each.name}: {each.setting} is a transport", f"use --transport {each.transport}"
            )
    if protocol.transports == (HTTP,):
        return list(selections)
    for each in selections:
        refuse_setting(each.setting)
    return [
        selection(chosen.server, transport, chosen.start.workers) if transport != HTTP else chosen
        for chosen in selections
        for transport in protocol.transports
        if transport == HTTP or transport in chosen.server.manifest.transports
    ]


def refuse_setting(setting: str) -> None:
    """Raises `DeadheatError` for a setting beside --transport."""
    if setting != "default":
        raise DeadheatError(
            f"--transport and the setting {setting} exclude each other",
            "omit the setting: a transport is itself one",
        )


def refuse_start(setting: str, workers: Sequence[int | None], cause: str, hint: str) -> None:
    """Raises `UsageFault` for a setting or workers where no server would start by them."""
    given = {"--setting": setting != "default", "--workers": (*workers,) != (None,)}
    for option in (name for name, is_given in given.items() if is_given):
        raise UsageFault(f"{option}: {cause}", hint)


def lacking(servers: Sequence[Server], selections: Sequence[Selection], workload: str) -> list[str]:
    """The names of the servers that do not answer a workload over its transport."""
    name, transport = parts_of(workload)
    answered = {
        each.server.name
        for each in selections
        if each.transport == transport and name in each.server.manifest.answered
    }
    return [each.name for each in servers if each.name not in answered]


def replay_lineup(
    protocol: Protocol, catalog: Catalog, patterns: Sequence[str], languages: Sequence[str]
) -> Lineup | None:
    """Which contender stands for which published row; None if the protocol is not a replay.

    Names, globs and languages narrow it. Warns about a manifest's claim to a row that does not
    exist.
    """
    if not isinstance(protocol, AloneProtocol) or protocol.origin is None:
        return None
    for pattern in patterns:
        if ":" in pattern:
            raise UsageFault(
                f"{pattern}: protocol {protocol.name} says how its servers start",
                "omit the setting, or use another protocol",
            )
    figures = shipped_figures(catalog.root, protocol.origin.figures)
    chosen = chosen_servers(catalog, patterns, languages)
    only = {server.name for server in chosen} if patterns or languages else None
    lineup = line_up(protocol, catalog, figures, only)
    for stray in lineup.strays:
        echo(f"left out: {stray}", fg="yellow", err=True)
    return lineup
