"""Rows for stores under test."""

import random

from deadheat.store import Gate, Store, TrialRecord
from tests.report.made import MadeRun


def begin(store: Store) -> tuple[str, int]:
    """A run with one contender."""
    run = MadeRun(store, fingerprints={"load": {"kernel": "6.2"}})
    return run.run_id, run.contender("plain", manifest={"name": "plain"})


def trial(run_id: str, contender_id: int, block: int = 1) -> TrialRecord:
    """A trial with rows in each of its tables, and with output that does not compress well."""
    return TrialRecord(
        run_id=run_id,
        contender_id=contender_id,
        instance_id=None,
        kind="measure",
        invocation=1,
        block=block,
        heat=1,
        connections=10,
        at_s=1.5,
        command=["deadheat-load", "http://127.0.0.1/"],
        state="ok",
        rate_per_s=1000.0,
        result={"limits": []},
        stdout=random.Random(block).randbytes(2000).hex(),
        stderr="a warning, \N{SNOWMAN}",
        histograms={"service_us": "HISTFAAA"},
        series={"load": [{"at_s": 0.1, "ok": 100}], "machine": []},
        errors={"reset": 3},
        gates=[Gate("little", True, 0.01, 0.05, "share", "none")],
    )
