"""The page of a run. It fetches the run's document, and fetches it again as new trials end."""

import asyncio
import gzip
import json
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.protocol import Settle
from deadheat.report.formats import page as report_page
from deadheat.serve.document import BOARD, PackedDocument, document_of
from deadheat.store import Store
from deadheat.store.listing import RunProgress, RunSummary, run_progress, run_summaries, run_summary

INTERVAL_S = 2.0
CACHED_MAX = 8  # documents
REST = 9  # at most a tenth of one CPU goes into the documents of a running run
GROWING = ("running", "unended")  # the process of an unended run cannot be seen: it may go on
BAR = """<body>
<style>
.live { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; max-width: 84rem; \
margin: 0 auto; padding: .75rem 1.5rem 0; font-size: .9rem; }
</style>
<nav class="live" aria-label="deadheat serve"><a href="/runs">All runs</a>\
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


class Boards:
    """The index of the board, made again when another run is over, and not while one goes on."""

    def __init__(self, store_path: Path) -> None:
        self._store_path = store_path
        self._made: tuple[list[str], str | None] = ([], None)
        self._lock = threading.Lock()

    def index(self, store: Store) -> str | None:
        """None where there is no board: a run is in progress, or none has a rate."""
        with self._lock:
            runs = run_summaries(store)
            if any(run.state in GROWING for run in runs):
                return None
            ids = [run.run_id for run in runs if not run.is_empty]
            if ids != self._made[0]:
                try:
                    page = gzip.decompress(document_of(self._store_path, BOARD).packed).decode()
                except DeadheatError:
                    page = None
                self._made = (ids, page)
            return self._made[1]


class Documents:
    """The JSON documents of runs, made by `make` and cached.

    A document of a run that goes on is made again only if the run has a new trial, and only if
    `REST` times the time that the last one took has passed: this machine may be measuring at the
    same time. `cpu_ms` is the CPU time of the last one. Readers may ask from several threads; they
    wait for one document.
    """

    def __init__(
        self,
        make: Callable[[Path, str], PackedDocument] = document_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cpu_ms = 0.0
        self._make = make
        self._clock = clock
        self._made: OrderedDict[str, _Made] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, store: Store, run_id: str) -> bytes:
        """The run's document, which lacks the newest trials for a short while."""
        with self._lock:
            made = self._made.get(run_id)
            if made is not None and made.summary.state not in GROWING:
                return made.packed
            summary = run_summary(store, run_id)
            if made is None or self._is_due(made, summary):
                made = self._entry(store, run_id, summary)
                self._made[run_id] = made
                self._made.move_to_end(run_id)
                if len(self._made) > CACHED_MAX:
                    self._made.popitem(last=False)
            return made.packed

    def _is_due(self, made: "_Made", summary: RunSummary) -> bool:
        """Whether to make it again; one that has ended is due without a rest."""
        rested = summary.state not in GROWING or self._clock() >= made.rests_until_s
        return rested and summary != made.summary

    def _entry(self, store: Store, run_id: str, summary: RunSummary) -> "_Made":
        begun_s = self._clock()
        document = self._make(store.path, run_id)
        self.cpu_ms = document.cpu_ms
        now_s = self._clock()
        return _Made(document.packed, summary, rests_until_s=now_s + REST * (now_s - begun_s))


@dataclass(frozen=True, slots=True)
class _Made:
    """A document, and the state of the run just before it was made."""

    packed: bytes
    summary: RunSummary
    rests_until_s: float


async def events(store_path: Path, run_id: str, documents: Documents) -> AsyncIterator[str]:
    """Server-sent events: the run's state, trials and time left, each time that they change.

    The last event says that the run has ended.
    """
    sent: RunSummary | None = None
    while sent is None or sent.state == "running":
        summary, left = await run_in_threadpool(_progress, store_path, run_id)
        if summary != sent:
            sent = summary
            yield _event(summary, left, documents.cpu_ms)
        if summary.state == "running":
            await asyncio.sleep(INTERVAL_S)


def _progress(store_path: Path, run_id: str) -> tuple[RunSummary, str | None]:
    """The run, and how long it still takes."""
    with Store(store_path, read_only=True) as store:
        return run_summary(store, run_id), time_left(run_progress(store, run_id))


def _event(run: RunSummary, left: str | None, cpu_ms: float) -> str:
    values = {"state": run.state, "trials": run.trials, "left": left, "document_cpu_ms": cpu_ms}
    return f"data: {json.dumps(values)}\n\n"


def time_left(run: RunProgress) -> str | None:
    """`at most 2 min` for a race with a budget, `about 2 min` for repetitions, as of its last
    trial. None before a trial, and where nothing is known."""
    stopping, elapsed_s = getattr(run.protocol, "stopping", None), run.last_trial_at_s
    if stopping is None or elapsed_s is None:  # a search has no rule
        return None
    if isinstance(stopping, Settle):
        return f"at most {_duration(stopping.budget_s - elapsed_s)}"
    planned = run.contenders * run.protocol.levels_each * stopping.repetitions
    if not run.trials or planned < run.trials:
        return None
    return f"about {_duration(elapsed_s * (planned / run.trials - 1))}"


def _duration(left_s: float) -> str:
    return numbers.duration(max(1, round(left_s)))
