"""`deadheat verify`: build, start, ask, stop; one line a server and its behaviour card."""

import json
import sys
from typing import Any

import click

from deadheat.campaign import lifecycle
from deadheat.campaign.lifecycle import StartFailed
from deadheat.campaign.prepare import Candidate, prepare
from deadheat.campaign.racer import from_contender
from deadheat.campaign.verify import verify
from deadheat.campaign.world import World
from deadheat.catalog import contender
from deadheat.cli.options import catalog_option, json_option
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import builder_on, chosen_servers, local_world, open_catalog


@click.command("verify")
@click.argument("servers", nargs=-1)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@click.option("--setting", default="default", help="A named setting of the manifests.")
@catalog_option
@json_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    setting: str,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Build and start servers, check what they answer, and stop them.

    Status, media type and body decide; the rest is how the server behaves.

    \b
    Example:  deadheat verify go-gin
    """
    chosen = chosen_servers(open_catalog(catalog), servers, languages)
    contenders = [contender(server, setting) for server in chosen]
    rows = []
    with local_world("engine", 1) as world, progress_view() as listen:
        for candidate in prepare(
            contenders, world.server_host, builder_on(world.server_host), listen
        ):
            rows.append(_verify(world, candidate))
            if not as_json:
                click.echo(_line(rows[-1]))
    failed = sum(row["fault"] is not None for row in rows)
    click.echo(
        json.dumps(rows, indent=2) if as_json else f"{len(rows) - failed} passed, {failed} failed"
    )
    sys.exit(1 if failed else 0)


def _verify(world: World, candidate: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": candidate.contender.name,
        "version": candidate.version,
        "fault": candidate.fault,
        "ready_s": None,
        "idle_memory_bytes": None,
        "stop": None,
        "card": None,
    }
    if candidate.built is None:
        return row
    racer = from_contender(candidate.contender, candidate.built)
    try:
        resident = lifecycle.start(world, racer)
    except StartFailed as error:
        return row | {"fault": str(error)}
    try:
        memory_bytes = world.server_host.usage(resident.process).memory_bytes
        card = verify(world.server_host, resident.address, racer.media_type)
    finally:
        asked_s = world.server_host.now_s()
        ended = lifecycle.stop(world, resident)
    stop = f"{ended.how} {world.server_host.now_s() - asked_s:.2f} s after {racer.stop_signal}"
    return row | {
        "fault": card.fault,
        "ready_s": resident.ready_s,
        "idle_memory_bytes": memory_bytes,
        "stop": stop,
        "card": card.to_json(),
    }


def _line(row: dict[str, Any]) -> str:
    if row["fault"] is not None:
        return f"FAIL {row['name']}: {row['fault']}"
    card = row["card"]
    traits = [
        f"ready {row['ready_s']:.2f} s",
        f"{row['idle_memory_bytes'] / 2**20:.0f} MiB",
        card["framing"],
        f"head {card['head_bytes']} B",
        "keep-alive" if card["keep_alive"] else "closes each connection",
        "close honoured" if card["close_honoured"] else "ignores Connection: close",
        f"HTTP/1.0 {card['http_1_0'] or 'unanswered'}",
        f"HEAD {card['head'] or 'unanswered'}",
        f"{card['pipelined'] or 0} of 2 pipelined",
        f"unknown path {card['unknown_path'] or 'unanswered'}",
        row["stop"],
    ]
    return f"ok   {row['name']} {row['version'] or ''}: {', '.join(traits)}"
