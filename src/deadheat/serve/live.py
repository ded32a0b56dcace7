"""A run's page, which asks for its document: once, and again as trials of a running one end."""

import asyncio
import gzip
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from deadheat.report.findings.analysis import analyze
from deadheat.report.formats import json_document
from deadheat.report.formats import page as report_page
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import state_of
from deadheat.store import Store

INTERVAL_S = 2.0
KEPT = 8  # documents of ended runs
GROWING = ("running", "unended")  # of the latter the process cannot be seen: it may go on
PACKING = 4  # gzip's level: the document is packed once for all who ask
BAR = """<body>
<style>
.live { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; max-width: 84rem; \
margin: 0 auto; padding: .75rem 1.5rem 0; font-size: .9rem; }
</style>
<nav class="live" aria-label="deadheat serve"><a href="/">All runs</a>\
<span class="status" id="live" role="status"></span></nav>"""
SCRIPT = '<script src="/assets/live.js"></script>\n</body>'
STATE = "SELECT state, writer, (SELECT count(*) FROM trial WHERE run_id = run.id) AS trials \
FROM run WHERE id = ?"


def page(_: Store, run_id: str) -> str:
    """The report's page without its document, which our script fetches: it is there at once."""
    waiting = report_page.fill(title=f"{run_id} – deadheat", plain="The run is being read.")
    return (
        waiting.replace("connect-src 'none'", "connect-src 'self'", 1)
        .replace("script-src ", "script-src 'self' ", 1)
        .replace("<body>", BAR, 1)
        .replace("</body>", SCRIPT, 1)
    )


class Documents:
    """The runs' JSON documents, by gzip: those of ended runs are kept, the others made anew.

    `cpu_ms` is what the last one took, since the machine that serves may be the one measured.
    """

    def __init__(self) -> None:
        self.cpu_ms = 0.0
        self._ended: OrderedDict[str, bytes] = OrderedDict()

    def of(self, store: Store, run_id: str) -> bytes:
        """The run's document as it is now."""
        if run_id in self._ended:
            return self._ended[run_id]
        begun_s = time.thread_time()
        view = load_view(store, run_id, whole=True)
        text = json_document.write(view, analyze(view), indent=None)
        packed = gzip.compress(text.encode(), PACKING, mtime=0)
        self.cpu_ms = round(1000 * (time.thread_time() - begun_s), 1)
        if view.state not in GROWING:
            self._ended[run_id] = packed
            if len(self._ended) > KEPT:
                self._ended.popitem(last=False)
        return packed


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
