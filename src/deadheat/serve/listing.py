"""The first page: every stored run, and a search over them."""

from urllib.parse import quote

from deadheat.report import format
from deadheat.report.model.runs import LISTED, StoredRun, list_runs
from deadheat.serve.markup import Html, Number, link, table, text
from deadheat.serve.markup import page as html_page
from deadheat.store import Store

HEADER = ("run", "started", "state", "protocol", "contenders", Number("trials"))
RIVALS = """
    SELECT run_id, name, server FROM contender WHERE role = 'contender' ORDER BY run_id, position
"""
SHOWN = 6


def page(store: Store, wanted: str) -> str:
    """Runs whose id, protocol, state, date or contenders hold every word of `wanted`."""
    names: dict[str, list[str]] = {}
    for row in store.rows(RIVALS):
        names.setdefault(row["run_id"], []).append(row["name"])
    runs = [run for run in list_runs(store) if _holds(run, names.get(run.run_id, []), wanted)]
    rows = [
        (
            link(f"/runs/{run.run_id}", run.run_id),
            format.moment(run.started_at),
            LISTED.get(run.state, run.state),
            format.plain(run.protocol, 40),
            _names(names.get(run.run_id, [])),
            Number(f"{run.trials:,}"),
        )
        for run in runs
    ]
    found = format.count(len(runs), "run")
    return html_page(
        "Runs",
        _search(wanted),
        table(f"{found} that match" if wanted else f"{found}, the newest first", HEADER, rows),
    )


def _holds(run: StoredRun, names: list[str], wanted: str) -> bool:
    held = " ".join([run.run_id, run.protocol, run.state, format.moment(run.started_at), *names])
    return all(word in held.lower() for word in wanted.lower().split())


def _names(names: list[str]) -> Html:
    shown = [link(f"/servers/{quote(name)}", format.plain(name, 40)) for name in names[:SHOWN]]
    more = [text(f"and {len(names) - SHOWN} more")] if len(names) > SHOWN else []
    return Html(", ".join([*shown, *more]))


def _search(wanted: str) -> Html:
    return Html(
        '<form role="search"><label for="q">Search runs, servers, protocols</label> '
        f'<input id="q" name="q" type="search" value="{text(wanted)}"> '
        "<button>Search</button></form>"
    )
