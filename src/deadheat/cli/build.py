"""`deadheat build`: build servers ahead, so that no measurement waits for it."""

import sys

import click

from deadheat.build.ahead import build_ahead, jobs_that_fit
from deadheat.cli.install import install_missing
from deadheat.cli.options import catalog_option
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import builder_on, chosen_servers, open_catalog
from deadheat.host.local import LocalHost


@click.command("build")
@click.argument("servers", nargs=-1)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@click.option("--install", is_flag=True, help="First run what `deadheat list` says is missing.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    help="Builds at once.  [default: one a CPU, of 2 GiB each]",
)
@catalog_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    install: bool,
    jobs: int | None,
    catalog: str | None,
) -> None:
    """Build servers from their lock files, several at once; what is built already stays.

    \b
    Example:  deadheat build go-gin 'node-*'
    """
    chosen = chosen_servers(open_catalog(catalog), servers, languages)
    with LocalHost() as host, progress_view() as listen:
        if install:
            install_missing(host, chosen)
        candidates = build_ahead(
            chosen, host, builder_on(host), listen, jobs or jobs_that_fit(host)
        )
    for candidate in candidates:
        name = candidate.selection.name
        if candidate.built is not None:
            click.echo(
                f"{name:24} {candidate.version or 'version unknown'}  {candidate.built.path}"
            )
        else:
            click.echo(f"{name:24} not built, as told above")
    failed = sum(candidate.fault is not None for candidate in candidates)
    click.echo(f"{len(candidates) - failed} built, {failed} not")
    sys.exit(1 if failed else 0)
