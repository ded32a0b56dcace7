"""`deadheat audit`: a stored replay beside the published figures."""

import json
import sys
from pathlib import Path

import click

from deadheat.audit.audit import audit
from deadheat.audit.decay import decay_page, load_series
from deadheat.audit.formats import FORMATS, write
from deadheat.audit.page import Page
from deadheat.audit.replay import Replay, load_replay
from deadheat.audit.sections import audit_page
from deadheat.catalog import find_root
from deadheat.cli.options import catalog_option, store_option
from deadheat.errors import DeadheatError
from deadheat.protocol.figures import Figures, read_figures, shipped_figures
from deadheat.report.encoding import fit
from deadheat.report.runs import find_run
from deadheat.store import Store

DECAY = "landshark-2009-decay"  # the one published series


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
    type=click.Path(path_type=Path, dir_okay=False),
    help="Another published table, in the columns of published/*.csv.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file."
)
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
    if not store_path.exists():
        raise DeadheatError(
            f"there is no store {store_path} yet",
            f"replay it first: deadheat run --protocol {name or 'NAME'}",
        )
    with Store(store_path, read_only=True) as store:
        wanted = find_run(store, name) if table is not None else _run_of(store, name or "", run)
        replay = load_replay(store, wanted)
        other = load_replay(store, find_run(store, against)) if against else None
        page = _page(store, replay, table, other, find_root(catalog))
    text = write(page, format_, [" ".join(["deadheat", *sys.argv[1:]])])
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise DeadheatError(f"--output {output}: {error.strerror}", "another file") from error
        return
    click.echo(fit(text, sys.stdout.encoding) if format_ == "text" else text.encode(), nl=False)


def _page(
    store: Store, replay: Replay, table: Path | None, other: Replay | None, root: Path
) -> Page:
    if table is not None:
        return audit_page(audit(store, replay, read_figures(table), None, other))
    if replay.protocol.recovery is not None:
        return decay_page(replay, load_series(store, replay), shipped_figures(root, DECAY))
    figures, repetitions = _published(root, replay)
    return audit_page(audit(store, replay, figures, repetitions, other))


def _run_of(store: Store, protocol: str, wanted: str | None) -> str:
    """The run of that id, or the last stored run of that protocol with a trial."""
    if wanted is not None:
        return find_run(store, wanted)
    rows = store.rows(
        "SELECT id, protocol FROM run WHERE id IN (SELECT run_id FROM trial)"
        " ORDER BY started_at DESC, rowid DESC"
    )
    for row in rows:
        if json.loads(row["protocol"]).get("name") == protocol:
            return str(row["id"])
    raise DeadheatError(
        f"no run of {protocol} is stored in {store.path}",
        f"replay it first: deadheat run --protocol {protocol} --duration-scale 0.1",
    )


def _published(root: Path, replay: Replay) -> tuple[Figures, Figures | None]:
    """The figures that a replay repeats, and the single repetitions where these are published."""
    origin = replay.protocol.origin
    if origin is None:
        raise DeadheatError(
            f"run {replay.run_id} is of protocol {replay.protocol.name}, which replays nothing",
            "--import FILE.csv sets it beside a table of your own",
        )
    repetitions = root / "published" / f"{origin.figures}-repetitions.csv"
    return (
        shipped_figures(root, origin.figures),
        read_figures(repetitions) if repetitions.is_file() else None,
    )
