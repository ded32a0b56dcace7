"""`deadheat build`: build servers before a run."""

import sys

from deadheat.build.leftovers import in_use, make_room
from deadheat.build.prepare import build_ahead, jobs_that_fit
from deadheat.build.runtime import builder_on
from deadheat.catalog.toolchain import install_missing
from deadheat.cli.choice import chosen_servers, open_catalog
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import catalog_option, install_option, language_option, servers_argument
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import limit_options
from deadheat.cli.values import Number
from deadheat.home import home
from deadheat.host import Limits
from deadheat.host.local import LocalHost
from deadheat.output import echo


@listed("build")
@servers_argument
@language_option
@install_option
@flag(
    "-j",
    "--jobs",
    section=Topic.BUILDS,
    type=Number(),
    help="Number of parallel builds.  [default: one per CPU and 2 GiB of memory]",
)
@limit_options
@catalog_option
def command(
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
    logs = home() / "logs"
    make_room(logs)
    with in_use(logs), LocalHost(limits=limits) as host, progress_view() as listen:
        if install:
            install_missing(host, chosen)
        candidates = build_ahead(
            chosen, host, builder_on(host, limits), listen, jobs or jobs_that_fit(host)
        )
    for candidate in candidates:
        name = candidate.selection.name
        if candidate.built is not None:
            echo(f"{name:24} {candidate.version or 'version unknown'}  {candidate.built.path}")
        else:
            echo(f"{name:24} not built; see the error above")
    failures = sum(candidate.fault is not None for candidate in candidates)
    echo(f"{len(candidates) - failures} built, {failures} failed")
    sys.exit(ExitCode.FAILED if failures else ExitCode.OK)
