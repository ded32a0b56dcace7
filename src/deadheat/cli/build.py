"""`deadheat build`: build servers ahead, so that no measurement waits for it."""

import sys

import click

from deadheat.campaign.prepare import prepare
from deadheat.catalog import contender
from deadheat.cli.install import install_missing
from deadheat.cli.options import catalog_option
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import builder_on, chosen_servers, open_catalog
from deadheat.host.local import LocalHost


@click.command("build")
@click.argument("servers", nargs=-1)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@click.option("--install", is_flag=True, help="First run what `deadheat list` says is missing.")
@catalog_option
def command(
    servers: tuple[str, ...], languages: tuple[str, ...], install: bool, catalog: str | None
) -> None:
    """Build servers from their lock files; what is built already stays.

    \b
    Example:  deadheat build go-gin 'node-*'
    """
    chosen = chosen_servers(open_catalog(catalog), servers, languages)
    with LocalHost() as host, progress_view() as listen:
        if install:
            install_missing(host, chosen)
        contenders = [contender(server) for server in chosen]
        candidates = prepare(contenders, host, builder_on(host), listen)
    for candidate in candidates:
        if candidate.built is not None:
            name = candidate.contender.name
            click.echo(
                f"{name:24} {candidate.version or 'version unknown'}  {candidate.built.path}"
            )
    failed = sum(candidate.fault is not None for candidate in candidates)
    click.echo(f"{len(candidates) - failed} built, {failed} not")
    sys.exit(1 if failed else 0)
