"""`deadheat run`: the main job."""

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from deadheat import report
from deadheat.audit.formats import write
from deadheat.audit.replay import load_replay
from deadheat.campaign.campaign import Plan, conduct
from deadheat.catalog import Catalog, Selection, selection
from deadheat.cli.install import install_missing
from deadheat.cli.options import (
    FILE,
    Levels,
    catalog_option,
    json_option,
    protocol_options,
    store_option,
)
from deadheat.cli.own import own_options, own_racers
from deadheat.cli.progress_view import progress_view
from deadheat.cli.replay import decay_of, on_one_host, replay_lineup
from deadheat.cli.resume import resumed_plan
from deadheat.cli.stored import require_another
from deadheat.cli.workbench import (
    builder_on,
    chosen_servers,
    local_world,
    make_room,
    open_catalog,
    tell_others,
)
from deadheat.errors import DeadheatError
from deadheat.protocol import Protocol
from deadheat.report.formats.encoding import fit
from deadheat.store import Store, home

INTERRUPTED = 130  # as a shell says it
LATENCY_S = 5.0


class WithCommand(click.Command):
    """What stands behind `--` is a command line of the user's, not a server's name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["own"] = []
        if "--" in args:
            at = args.index("--")
            ctx.meta["own"] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command("run", cls=WithCommand)
@click.argument("servers", nargs=-1)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@protocol_options
@click.option("--workers", type=Levels(), help="Workers of each server, e.g. 1,2,4.")
@click.option("--setting", default="default", help="A named setting of the manifests.")
@click.option("--url", "urls", multiple=True, help="A server that runs already.")
@own_options
@click.option("--latency", is_flag=True, help="Latency apart: open loop at 50, 70, 90 % load.")
@click.option("--seed", type=int, help="Of the random order; stored with the run.")
@click.option("--resume", metavar="RUN", help="Go on with a run that ended early.")
@click.option("--install", is_flag=True, help="First run what `deadheat list` says is missing.")
@click.option("-o", "--output", type=FILE, help="The table as Markdown.")
@catalog_option
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    protocol: Protocol | None,
    workers: tuple[int, ...] | None,
    setting: str,
    urls: tuple[str, ...],
    path: str | None,
    any_body: bool,
    latency: bool,
    seed: int | None,
    resume: str | None,
    install: bool,
    output: Path | None,
    catalog: str | None,
    store_path: Path,
    as_json: bool,
) -> None:
    """Race servers until the order is settled, and rank them.

    \b
    Examples:
      deadheat run                                   every server that is ready here
      deadheat run go-net-http node-http             two of them
      deadheat run 'python-*' --connections 10,100 --budget 3m
      deadheat run --language go --duration 2s --repetitions 3
      deadheat run go-gin -- ./my-server --port {port}
      deadheat run go-gin --url http://127.0.0.1:8080/
      deadheat run --resume 20261120                 go on with a run that ended early
    """
    found = open_catalog(catalog)
    if protocol is None:
        plan = resumed_plan(ctx, store_path, resume, found, LATENCY_S)
    else:
        own: list[str] = ctx.meta["own"]
        protocol = on_one_host(protocol)
        lineup = replay_lineup(protocol, found, servers, languages)
        chosen = (
            lineup.selections
            if lineup is not None
            else _contenders(found, servers, languages, setting, workers, alone=bool(own or urls))
        )
        plan = Plan(
            protocol=protocol,
            selections=chosen,
            labels=lineup.labels if lineup else {},
            extra=own_racers(own, urls, {one.name for one in chosen}, protocol, path, any_body),
            seed=seed if seed is not None else random.randrange(2**31),
            command=["deadheat", *sys.argv[1:]],
            latency_s=LATENCY_S if latency else None,
            missing=lineup.missing if lineup else {},
        )
    _require_sense(plan)
    if output is not None:
        require_another(output, store_path)
    make_room(store_path.parent, home(), *([output.parent] if output else []))
    protocol, crowded = plan.protocol, plan.protocol.origin is not None
    with (
        Store(store_path) as store,
        local_world(protocol.generator, protocol.threads, crowded) as world,
    ):
        tell_others(store)
        if install:
            install_missing(world.server_host, [one.server for one in plan.selections])
        with progress_view() as listen:
            run_id = conduct(plan, world, store, builder_on(world.server_host), listen)
    if not as_json and protocol.recovery is not None:
        _tell_decay(store_path, run_id, found.root)
    if _tell(store_path, run_id, output, as_json) == "interrupted":
        sys.exit(INTERRUPTED)


def _require_sense(plan: Plan) -> None:
    """Raises `DeadheatError` for a plan that cannot come to anything."""
    if plan.latency_s is not None and plan.protocol.generator != "engine":
        raise DeadheatError(
            f"--latency asks for a fixed rate, and {plan.protocol.generator} has none",
            "use --generator engine, or measure without --latency",
        )
    if plan.left is None and len(plan.selections) + len(plan.extra) == 0:
        raise DeadheatError("there is nothing to run", "`deadheat list` shows what there is")


def _contenders(
    catalog: Catalog,
    patterns: Sequence[str],
    languages: Sequence[str],
    setting: str,
    workers: tuple[int, ...] | None,
    alone: bool,
) -> list[Selection]:
    if alone and not patterns and not languages:
        return []
    return [
        selection(server, setting, count)
        for server in chosen_servers(catalog, patterns, languages)
        for count in (workers or (None,))
    ]


def _tell_decay(store_path: Path, run_id: str, root: Path) -> None:
    with Store(store_path, read_only=True) as store:
        page = decay_of(store, load_replay(store, run_id), root)
    click.echo(fit(write(page, "text"), sys.stdout.encoding))


def _tell(store_path: Path, run_id: str, output: Path | None, as_json: bool) -> str:
    """Print and write the run's table; returns the run's state."""
    with Store(store_path, read_only=True) as store:
        view = report.load_view(store, run_id, whole=as_json)
    markdown = output or home() / "reports" / f"{run_id}.md"
    make_room(markdown.parent)
    markdown.write_text(report.write(view, "md"), encoding="utf-8")
    click.echo(report.write(view, "json" if as_json else "terminal"))
    if not as_json:
        click.echo(f"the table as Markdown: {markdown}")
        click.echo(f"everything is stored:  {store_path}  (run {run_id})")
        click.echo(f"see it again:          deadheat report {run_id}")
    return view.state
