"""The JSON document of a run, or the index of the board, packed with gzip: what `serve` shows.

    python -P -m deadheat.serve.document STORE RUN|--board PARENT

A document takes tens of MiB while it is made, and a board hundreds, and Python keeps them. `serve`
may be open for days, so it starts this program for each, which ends with it. The program writes a
line with its CPU time in milliseconds, and then what it packed. An error is a JSON object on
standard error.
"""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from deadheat.audit.audit import with_defects
from deadheat.edition.joined import join, part_of
from deadheat.errors import DeadheatError
from deadheat.host.agent.init import end_with
from deadheat.protocol import AloneProtocol
from deadheat.report.formats import json_document
from deadheat.report.model.load import load_view, load_view_of
from deadheat.report.model.runs import list_runs
from deadheat.serve.heatmap import index_page
from deadheat.store import Store, read_run

DEADLINE_S = 300.0  # 20,000 trials take a few seconds
BOARD = "--board"  # instead of a run
BOARD_RUNS_MAX = 50  # the newest; a board of more is for `deadheat board write`
PACKING = 4  # gzip level; the document is packed once for all readers


@dataclass(frozen=True, slots=True)
class PackedDocument:
    """A packed document, and the CPU time that it took."""

    packed: bytes
    cpu_ms: float


def document_of(store_path: Path, run_id: str) -> PackedDocument:
    """The document of a run in any state, made by a separate process.

    Raises `DeadheatError` if there is no such run, or it cannot be reported.
    """
    command = (sys.executable, "-P", "-m", __name__, str(store_path), run_id, str(os.getpid()))
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S
        )
    except subprocess.TimeoutExpired:
        raise _failure(store_path, run_id, f"it took longer than {DEADLINE_S:g} s") from None
    if ended.returncode == 0:
        cpu_ms, _, packed = ended.stdout.partition(b"\n")
        return PackedDocument(packed, float(cpu_ms))
    try:
        raise DeadheatError(**json.loads(ended.stderr))
    except (ValueError, TypeError):
        *_, last = ended.stderr.decode(errors="replace").splitlines() or ["no reason given"]
        reason = f"exit code {ended.returncode}, {last}"
        raise _failure(store_path, run_id, reason) from None


def _failure(store_path: Path, run_id: str, reason: str) -> DeadheatError:
    return DeadheatError(
        f"the document of run {run_id} could not be made: {reason}",
        f"deadheat report {run_id} --store {store_path}",
    )


def packed_document(store_path: Path, run_id: str) -> bytes:
    """The document, made here. Raises `StoreError` if there is no such run."""
    with Store(store_path, read_only=True) as store:
        view = with_defects(store, load_view(store, run_id, whole=True))
    text = json_document.write(view, indent=None)
    return gzip.compress(text.encode(), PACKING, mtime=0)


def packed_board(store_path: Path) -> bytes:
    """The index of the board of the newest races that are over. Raises `DeadheatError` without one
    that has a rate."""
    parts = []
    with Store(store_path, read_only=True) as store:
        over = [run for run in list_runs(store) if not run.is_empty and run.state != "running"]
        for summary in over[:BOARD_RUNS_MAX]:
            run = read_run(store, summary.run_id)
            if not isinstance(run.protocol, AloneProtocol):  # a replay compares no servers
                parts.append(part_of(load_view_of(run), run.contenders))
    try:
        edition = join(store_path.name, parts)
    except ValueError as error:
        raise DeadheatError(str(error)) from error
    page = index_page(edition, [], repeat="deadheat board write -o board", served=True)
    return gzip.compress(page.encode(), PACKING, mtime=0)


def main() -> None:
    try:
        path, what = Path(sys.argv[1]), sys.argv[2]
        end_with(int(sys.argv[3]), signal.SIGKILL)
        packed = packed_board(path) if what == BOARD else packed_document(path, what)
    except DeadheatError as error:
        sys.exit(json.dumps({"message": str(error), "hint": error.hint}))
    sys.stdout.buffer.write(f"{1000 * time.process_time():.1f}\n".encode() + packed)


if __name__ == "__main__":
    main()
