"""The page of a run. It fetches the run's document, and fetches it again as new trials end."""

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
from deadheat.store import Store
from deadheat.store.listing import RunSummary, run_summary

INTERVAL_S = 2.0
CACHED_MAX = 8  # documents of ended runs
GROWING = ("running", "unended")  # the process of an unended run cannot be seen: it may go on
PACKING = 4  # gzip level; the document is packed once for all readers
BAR = """<body>
<style>
.live { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; max-width: 84rem; \
margin: 0 auto; padding: .75rem 1.5rem 0; font-size: .9rem; }
</style>
<nav class="live" aria-label="deadheat serve"><a href="/">All runs</a>\
<span class="status" id="live" role="status"></span></nav>"""
SCRIPT = '<script src="/assets/live.js"></script>\n</body>'


def page(_: Store, run_id: str) -> str:
    """The report's page without its document, which a script then fetches."""
    html = report_page.fill(title=f"{run_id} – deadheat", plain="The run is being read.")
    return (
        html.replace("connect-src 'none'", "connect-src 'self'", 1)
        .replace("script-src ", "script-src 'self' ", 1)
        .replace("<body>", BAR, 1)
        .replace("</body>", SCRIPT, 1)
    )


class Documents:
    """The JSON documents of runs, packed with gzip. Those of ended runs are cached.

    `cpu_ms` is the CPU time of the last one: this machine may be measuring at the same time.
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
            if len(self._ended) > CACHED_MAX:
                self._ended.popitem(last=False)
        return packed


async def events(store_path: Path, run_id: str, documents: Documents) -> AsyncIterator[str]:
    """Server-sent events: the run's state and its number of trials, each time they change.

    The last event says that the run has ended.
    """
    sent: RunSummary | None = None
    while sent is None or sent.state == "running":
        summary = await run_in_threadpool(_summary, store_path, run_id)
        if summary != sent:
            sent = summary
            yield _event(summary, documents.cpu_ms)
        if summary.state == "running":
            await asyncio.sleep(INTERVAL_S)


def _summary(store_path: Path, run_id: str) -> RunSummary:
    with Store(store_path, read_only=True) as store:
        return run_summary(store, run_id)


def _event(run: RunSummary, cpu_ms: float) -> str:
    values = {"state": run.state, "trials": run.trials, "document_cpu_ms": cpu_ms}
    return f"data: {json.dumps(values)}\n\n"
