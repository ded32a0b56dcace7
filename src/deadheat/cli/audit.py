"""`deadheat audit`: a stored replay beside the published figures."""

import sys
from pathlib import Path

import click

from deadheat.audit.audit import audit
from deadheat.audit.formats import FORMATS, write
from deadheat.audit.page import Page
from deadheat.audit.replay import Replay, load_replay
from deadheat.audit.sections import audit_page
from deadheat.catalog import find_root
from deadheat.cli.options import FILE, catalog_option, store_option
from deadheat.cli.replay import decay_of, figures_if_any
from deadheat.cli.stored import MEASURE, stored, write_output
from deadheat.errors import DeadheatError
from deadheat.protocol import protocol_names
from deadheat.protocol.figures import Figures, read_figures, shipped_figures
from deadheat.report.formats.encoding import fit
from deadheat.report.model.runs import find_run
from deadheat.store import Store
from deadheat.store.listing import latest_run_of


@click.command("audit")
@click.argument("name", required=False)
@click.argument("run", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to show it.",
)
@click.option("--against", metavar="RUN", help="Another replay: how far do two of ours agree?")
@click.option(
    "--import",
    "table",
    type=FILE,
    help="Another published table, in the columns of published/*.csv.",
)
@click.option("-o", "--output", type=FILE, help="Write to this file.")
@catalog_option
@store_option
def command(
    name: str | None,
    run: str | None,
    format_: str,
    against: str | None,
    table: Path | None,
    output: Path | None,
    catalog: str | None,
    store_path: Path,
) -> None:
    """Set a stored replay beside the published figures: ranks then and now, and the defects.

    NAME is a replay protocol; RUN a stored run of it, the last one by default. With --import, NAME
    is the run to set beside that table, whose rows are labels or names of its contenders.

    \b
    Examples:
      deadheat audit kzmake-2018
      deadheat audit kzmake-2018 --format md -o docs/results/kzmake-2018.md
      deadheat audit --import blog.csv 20261120
      deadheat audit decay
    """
    if table is None and name is None:
        raise DeadheatError("audit what?", "name a replay: `deadheat protocols` lists them")
    root = find_root(catalog)
    first = MEASURE if name is None or table is not None else _replay_first(root, name)
    with stored(store_path, first) as store:
        wanted = find_run(store, name) if table is not None else _run_of(store, name, run, first)
        replay = load_replay(store, wanted)
        if table is None and replay.protocol.name != name:
            raise DeadheatError(
                f"run {wanted} is of protocol {replay.protocol.name}, not {name}",
                f"name its protocol, or a run of {name}",
            )
        other = load_replay(store, find_run(store, against)) if against else None
        page = _page(store, replay, table, other, root)
    text = write(page, format_, [" ".join(["deadheat", *sys.argv[1:]])])
    if output is not None:
        write_output(output, text, store_path)
        return
    click.echo(fit(text, sys.stdout.encoding) if format_ == "text" else text.encode(), nl=False)


def _page(
    store: Store, replay: Replay, table: Path | None, other: Replay | None, root: Path
) -> Page:
    if table is not None:
        return audit_page(audit(store, replay, read_figures(table), None, other))
    if replay.protocol.recovery is not None:
        return decay_of(store, replay, root)
    figures, repetitions = _published(root, replay)
    return audit_page(audit(store, replay, figures, repetitions, other))


def _replay_first(root: Path, name: str) -> str:
    """The way out where no run of that name is stored."""
    if name in protocol_names(root):
        return f"replay it first: deadheat run --protocol {name} --duration-scale 0.1"
    return "no protocol has that name: `deadheat protocols` lists them"


def _run_of(store: Store, protocol: str | None, wanted: str | None, first: str) -> str:
    """The run of that id, or the last stored run of that protocol with a trial."""
    if wanted is not None:
        return find_run(store, wanted)
    if protocol is not None and (run_id := latest_run_of(store, protocol)) is not None:
        return run_id
    raise DeadheatError(f"no run of {protocol} is stored in {store.path}", first)


def _published(root: Path, replay: Replay) -> tuple[Figures, Figures | None]:
    """The figures that a replay repeats, and the single repetitions where these are published."""
    origin = replay.protocol.origin
    if origin is None:
        raise DeadheatError(
            f"run {replay.run_id} is of protocol {replay.protocol.name}, which replays nothing",
            "--import FILE.csv sets it beside a table of your own",
        )
    repetitions = figures_if_any(root, f"{origin.figures}-repetitions")
    return shipped_figures(root, origin.figures), repetitions
