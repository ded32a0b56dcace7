"""`deadheat build`, `new`, `outdated` and `containerfile`: about servers, without measuring."""

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from deadheat.build.image import BASE_IMAGE, containerfile
from deadheat.build.leftovers import in_use, make_room
from deadheat.build.prepare import Candidate, build_ahead, jobs_that_fit
from deadheat.build.runtime import builder_on
from deadheat.catalog import Server, choose, selection
from deadheat.catalog.catalog import distrust
from deadheat.catalog.new import HELLO, copy_server, root_for_new
from deadheat.catalog.outdated import RegistryAnswer, ask, recipe_declarations, server_declaration
from deadheat.catalog.toolchain import install_missing
from deadheat.cli.choice import chosen_servers, open_catalog
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import (
    base_image_option,
    catalog_option,
    complete_servers,
    install_option,
    integer,
    json_option,
    language_option,
    servers_argument,
    setting_option,
)
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import limit_options
from deadheat.errors import DeadheatError, UsageFault
from deadheat.events import Listener
from deadheat.foreign_text import escaped
from deadheat.home import home
from deadheat.host import Limits
from deadheat.host.local import LocalHost
from deadheat.numbers import count
from deadheat.output import echo, echo_json


@listed("build")
@servers_argument
@language_option
@install_option
@flag(
    "-j",
    "--jobs",
    section=Topic.BUILDS,
    type=integer(),
    help="Number of parallel builds.  [default: one per CPU and 2 GiB of memory]",
)
@limit_options
@catalog_option
def build_command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    install: bool,
    jobs: int | None,
    limits: Limits,
    catalog: str | None,
) -> None:
    """SERVERS are names or globs; the default is all. Existing builds are kept. `deadheat run`
    builds what is missing in the same way.

    \b
    Examples:
      deadheat build go-gin 'node-*'
      deadheat build --language rust --install
    """
    chosen = chosen_servers(open_catalog(catalog), servers, languages)
    candidates = build_here(chosen, install, limits, jobs)
    for candidate in candidates:
        name = candidate.selection.name
        if candidate.built is not None:
            echo(f"{name:24} {candidate.version or 'version unknown'}  {candidate.built.path}")
        else:
            echo(f"{name:24} not built; see the error above")
    failures = sum(candidate.fault is not None for candidate in candidates)
    echo(f"{len(candidates) - failures} built, {failures} failed")
    sys.exit(ExitCode.FAILED if failures else ExitCode.OK)


def build_here(
    servers: Sequence[Server],
    install: bool,
    limits: Limits,
    jobs: int | None = None,
    heard_as: Callable[[Listener], Listener] = lambda listen: listen,
) -> list[Candidate]:
    """Build on this machine; `heard_as` changes what the progress view hears."""
    logs = home() / "logs"
    make_room(logs)
    with in_use(logs), LocalHost(limits=limits) as host, progress_view() as listen:
        if install:
            install_missing(host, servers)
        at_once = jobs or jobs_that_fit(host)
        return build_ahead(servers, host, builder_on(host, limits), heard_as(listen), at_once)


@listed("new")
@click.argument("name")
@flag("--like", section=Topic.SERVERS, metavar="SERVER", help="Server to copy.")
@flag(
    "--hello",
    section=Topic.SERVERS,
    type=click.Choice([*HELLO]),
    help="Write the smallest application in this language instead of a copy.",
)
@catalog_option
def new_command(name: str, like: str | None, hello: str | None, catalog: str | None) -> None:
    """NAME is the new server. Its folder is a copy that you edit: the manifest, the application and
    the lock file. It goes to servers/ of the catalog that --catalog names or that you are in;
    otherwise to servers/ of this folder. Shipped servers can be named beside it as before.

    \b
    Examples:
      deadheat new python-quart --like python-uvicorn
      deadheat new my-go --hello go                  a dozen lines to begin with
      deadheat verify python-quart                   after you have edited the files
    """
    if (like is None) == (hello is None):
        raise click.UsageError(f"give --like SERVER, or --hello {'|'.join(HELLO)}")
    source_catalog = open_catalog(catalog)
    like = like or HELLO[hello or ""][0]
    sources = choose(source_catalog, [like])
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise DeadheatError(
            f"--like {like!r} matches {len(sources)} servers", f"choose one: {names}"
        )
    root = root_for_new(source_catalog.root, catalog)
    folder = copy_server(sources[0], name, root, hello)
    for path in sorted(folder.rglob("*")):
        echo(_shown(path))
    option = ""
    if catalog is not None:
        option = f" --catalog {shlex.quote(catalog)}"
    elif root != source_catalog.root and distrust(root):
        option = " --catalog ."
    echo(f"edit these files, then run: deadheat verify {name}{option}")


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


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
def outdated_command(
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


@listed("containerfile")
@click.argument("server", shell_complete=complete_servers)
@setting_option
@base_image_option
@catalog_option
def containerfile_command(
    server: str, setting: str, base_image: str | None, catalog: str | None
) -> None:
    """It has the install lines, the build steps and the start command from the server's manifest
    and recipe. Build it in the server's folder, which has the lock file. In the container, the
    server listens on port 8080.

    \b
    Example:
      deadheat containerfile go-gin > Containerfile
      podman build -t go-gin -f Containerfile servers/go-gin
    """
    chosen = chosen_servers(open_catalog(catalog), (server,))
    if len(chosen) != 1:
        names = ", ".join(each.name for each in chosen)
        raise UsageFault(f"{server}: expected one server, got {names}", "name one of them")
    text = containerfile(selection(chosen[0], setting), base_image or BASE_IMAGE)
    echo(text, newline=False)
