"""The first page: every run, and a search over them where it is served."""

from collections.abc import Sequence
from urllib.parse import quote

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.model.runs import list_runs, state_text
from deadheat.serve.markup import Html, NumberCell, link, page, table, text
from deadheat.store import Store
from deadheat.store.listing import RunSummary, contender_names

HEADER = ("run", "started", "state", "protocol", "contenders", NumberCell("trials"))
NAMES_MAX = 6


def listing_page(store: Store, wanted: str) -> str:
    """The served page: runs whose id, protocol, state, date or names have all words of `wanted`."""
    names = contender_names(store)
    runs = [
        run
        for run in list_runs(store)
        if not run.is_empty and _matches(run, names.get(run.run_id, []), wanted)
    ]
    rows = [
        (
            link(f"/runs/{run.run_id}", run.run_id),
            numbers.moment(run.started_at),
            state_text(run),
            one_line(run.protocol, 40),
            _links(names.get(run.run_id, [])),
            NumberCell(f"{run.trials:,}"),
        )
        for run in runs
    ]
    count = numbers.count(len(runs), "run")
    return page(
        "Runs",
        _search(wanted),
        table(f"{count} that match" if wanted else f"{count}, the newest first", HEADER, rows),
    )


def _matches(run: RunSummary, names: Sequence[str], wanted: str) -> bool:
    words = " ".join([run.run_id, run.protocol, run.state, numbers.moment(run.started_at), *names])
    return all(word in words.lower() for word in wanted.lower().split())


def _links(names: Sequence[str]) -> Html:
    links = [link(f"/servers/{quote(name)}", one_line(name, 40)) for name in names[:NAMES_MAX]]
    more = [text(f"and {len(names) - NAMES_MAX} more")] if len(names) > NAMES_MAX else []
    return Html(", ".join([*links, *more]))


def _search(wanted: str) -> Html:
    return Html(
        '<form role="search"><label for="q">Search runs, servers, protocols</label> '
        f'<input id="q" name="q" type="search" value="{text(wanted)}"> '
        "<button>Search</button></form>"
    )
