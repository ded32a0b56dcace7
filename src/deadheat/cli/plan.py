"""`deadheat plan`: what would run, and how long it takes, before anything starts."""

import json

import click

from deadheat.campaign.estimate import estimate
from deadheat.cli.options import catalog_option, json_option, protocol_options
from deadheat.cli.workbench import chosen_servers, open_catalog
from deadheat.protocol import Protocol


@click.command("plan")
@click.argument("servers", nargs=-1)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@protocol_options
@catalog_option
@json_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    protocol: Protocol,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Print what a run would do and how long it takes. Takes the flags of `deadheat run`.

    \b
    Example:  deadheat plan --protocol quick go-gin node-http
    """
    names = [server.name for server in chosen_servers(open_catalog(catalog), servers, languages)]
    told = estimate(protocol, names)
    if as_json:
        click.echo(json.dumps({**told.to_json(), "protocol": protocol.model_dump()}, indent=2))
        return
    click.echo("\n".join(told.lines()))
