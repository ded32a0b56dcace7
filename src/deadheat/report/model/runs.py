"""The stored runs: one line for each, the run that the user means, and errors in foreign files."""

import difflib
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from deadheat import numbers
from deadheat.errors import DeadheatError, StoreError
from deadheat.foreign_text import one_line
from deadheat.store import Store
from deadheat.store.listing import (
    RunSummary,
    run_ids,
    run_summaries,
    short_id,
    store_option,
)

NEAREST = 3
NAMED = 4  # contenders of a run
LISTED = {"lost": "process gone", "unended": "no end"}
FAULTS = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError),
    *(TypeError, ValueError, zlib.error, sqlite3.Error),
)


def list_runs(store: Store) -> list[RunSummary]:
    """Every stored run, the newest first. Raises `StoreError` if there is none."""
    return run_summaries(store) or _refuse_empty(store)


def find_run(
    store: Store, wanted: str | None, with_empty: bool = False, option: str | None = None
) -> str:
    """The id of the run whose id is `wanted`, or alone begins or ends with it; the newest for None.

    The newest is one with a valid trial; `with_empty` takes any. The end of an id
    is the part behind its last `-`. Raises `StoreError` that names the runs it could have been;
    its commands have `option`, which names the store, or ` --store FILE`.
    """
    option = store_option(store.path) if option is None else option
    ids = run_ids(store) or _refuse_empty(store)
    if wanted is None:
        for each in run_summaries(store):
            if with_empty or not each.is_empty:
                return each.run_id
        raise StoreError(
            f"the store {store.path} has no run with a valid trial",
            f"`deadheat report {short_id(ids[0])}{option}` says why the last one has none",
        )
    if wanted in ids:
        return wanted
    ending = [run_id for run_id in ids if short_id(run_id) == wanted]
    matches = ending or [run_id for run_id in ids if wanted and run_id.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise StoreError(
            f"RUN {wanted!r} is ambiguous: {len(matches)} run ids {'end' if ending else 'begin'} "
            f"with it: {_some(matches)}",
            "type more of the id",
        )
    near = difflib.get_close_matches(wanted, ids, n=NEAREST, cutoff=0.3) or ids[:NEAREST]
    raise StoreError(
        f"RUN {wanted!r}: no stored run has this id",
        f"similar ids: {', '.join(near)}; to list all: deadheat report --list{option}",
    )


def lines(runs: Sequence[RunSummary], names: Mapping[str, Sequence[str]]) -> str:
    """The runs as text, one line each. `names` has the contenders of each run by its id."""
    rows = [
        (
            one_line(run.run_id),
            numbers.moment(run.started_at),
            state_text(run),
            one_line(run.protocol, 20),
            numbers.count(run.contenders, "contender"),
            numbers.count(run.trials, "trial"),
            _some_names(names.get(run.run_id, ())),
        )
        for run in runs
    ]
    return "".join(f"{line}\n" for line in columns(rows))


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """The rows in columns, those in `right` aligned there."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def state_text(run: RunSummary) -> str:
    """The state of a run, and whether it was measured elsewhere."""
    state = LISTED.get(run.state, run.state)
    state = f"{state}, empty" if run.is_empty else state
    return f"{state}, imported" if run.imported else state


def _some_names(names: Sequence[str]) -> str:
    shown = [one_line(name, 40) for name in names[:NAMED]]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*shown, *more])


def _refuse_empty(store: Store) -> NoReturn:
    raise StoreError(f"the store {store.path} has no run yet", "measure one: deadheat run")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NEAREST]) + (", ..." if len(ids) > NEAREST else "")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Read and report the runs of a file. Raises `StoreError` if its data do not make sense."""
    try:
        yield
    except DeadheatError:
        raise
    except FAULTS as error:
        raise StoreError(
            f"{path} cannot be reported: {type(error).__name__}: {error}",
            "its data are damaged or from another version of deadheat; export the run again",
        ) from error
