"""An audit and a report of the same stored run print the same rates."""

from pathlib import Path

import pytest

from deadheat.audit.replay import load_replay
from deadheat.report.model.load import load_view
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids

RESULTS = Path(__file__).parents[2] / "docs" / "results"
REPLAYS = sorted([*RESULTS.glob("*-20??*.deadheat"), RESULTS / "decay.deadheat"])


@pytest.mark.parametrize("bundle", REPLAYS, ids=lambda path: path.stem)
def test_bug_audits_divided_by_rounded_seconds(bundle: Path) -> None:
    """wrk printed 176,905 requests/s, and the audit said 177,747."""
    with open_bundle(bundle) as store:
        (run_id,) = run_ids(store)
        view = load_view(store, run_id)
        replay = load_replay(store, run_id)
    shown = {contender.name: contender for contender in view.contenders}
    compared = 0
    for contender in replay.contenders:
        for connections in replay.protocol.connections:
            audited = contender.rates_at(connections)
            cell = shown[contender.name].cells.get(connections)
            trials = [trial for trial in cell.trials if trial.measured] if cell else []
            if len(trials) != len(audited) or any(trial.errors for trial in trials):
                continue  # a report leaves failed requests out
            assert audited == pytest.approx([trial.rate_per_s for trial in trials], rel=1e-9)
            compared += len(audited)
    assert compared > 0
