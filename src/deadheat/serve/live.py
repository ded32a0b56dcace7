"""A run's page, which asks for its document: once, and again as trials of a running one end."""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from deadheat import report
from deadheat.report import page as report_page
from deadheat.report.runs import state_of
from deadheat.store import Store

INTERVAL_S = 2.0
KEPT = 8  # documents of ended runs
LIVE = '<script src="/assets/live.js"></script>\n</body>'
STATE = "SELECT state, writer, (SELECT count(*) FROM trial WHERE run_id = run.id) AS trials \
FROM run WHERE id = ?"


def page(_: Store, run_id: str) -> str:
    """The report's page without its document, which our script fetches: it is there at once."""
    waiting = report_page.fill(title=f"{run_id} – deadheat", plain="The run is being read.")
    return (
        waiting.replace("connect-src 'none'", "connect-src 'self'", 1)
        .replace("script-src ", "script-src 'self' ", 1)
        .replace("</body>", LIVE, 1)
    )


class Documents:
    """The runs' JSON documents: those that have ended are kept, the others made anew.

    `cpu_ms` is what the last one took, since the machine that serves may be the one measured.
    """

    def __init__(self) -> None:
        self.cpu_ms = 0.0
        self._ended: OrderedDict[str, str] = OrderedDict()

    def of(self, store: Store, run_id: str) -> str:
        """The run's document as it is now."""
        if run_id in self._ended:
            return self._ended[run_id]
        begun_s = time.thread_time()
        view = report.load_view(store, run_id, whole=True)
        text = report.write(view, "json")
        self.cpu_ms = round(1000 * (time.thread_time() - begun_s), 1)
        if view.state != "running":
            self._ended[run_id] = text
            if len(self._ended) > KEPT:
                self._ended.popitem(last=False)
        return text


async def events(store_path: Path, run_id: str, documents: Documents) -> AsyncIterator[str]:
    """Server-sent events: the run's state and its count of trials, whenever they change.

    The last one says that the run has ended.
    """
    told: tuple[str, int] | None = None
    while told is None or told[0] == "running":
        now = await run_in_threadpool(_read, store_path, run_id)
        if now != told:
            told = now
            state, trials = told
            yield _event({"state": state, "trials": trials, "document_cpu_ms": documents.cpu_ms})
        if told[0] == "running":
            await asyncio.sleep(INTERVAL_S)


def _read(store_path: Path, run_id: str) -> tuple[str, int]:
    with Store(store_path, read_only=True) as store:
        return _state(store, run_id)


def _state(store: Store, run_id: str) -> tuple[str, int]:
    (row,) = store.rows(STATE, run_id)
    return state_of(row), row["trials"]


def _event(told: dict[str, object]) -> str:
    return f"data: {json.dumps(told)}\n\n"
