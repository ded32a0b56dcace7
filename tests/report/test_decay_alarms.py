"""Decay is reported only where the controls do not explain it, and not from a few noisy trials."""

from pathlib import Path

from deadheat.report.findings.analysis import analyze
from deadheat.report.model.load import load_view
from deadheat.report.picture.decay import draw, fell
from tests.report.made import made_run


def drawn(path: Path, rates: dict[str, list[float]]) -> str:
    run = made_run(path)
    for name, by_trial in rates.items():
        run.contender(name, role="control" if name == "null-server" else "contender")
        for block, rate in enumerate(by_trial, start=1):
            run.trial(name, rate, block=block)
    view = load_view(run.store, run.end())
    picture = draw(view, analyze(view))
    assert picture is not None
    return picture


SINKING = [1000.0 * 0.95**trial for trial in range(8)]


def test_a_slower_machine_is_no_decay(tmp_path: Path) -> None:
    picture = drawn(tmp_path / "runs.sqlite", {"a": SINKING, "null-server": SINKING})
    assert "None of 1 server ended a start more than 10 %" in picture
    assert "beside the controls" in picture


def test_what_the_controls_do_not_explain_is_reported(tmp_path: Path) -> None:
    picture = drawn(tmp_path / "runs.sqlite", {"a": SINKING, "null-server": [9000.0] * 8})
    assert "1 of 1 server ended a start more than 10 %" in picture


def test_four_noisy_trials_are_no_alarm() -> None:
    assert not fell((1.0, 0.8, 1.1, 0.7))
    assert not fell((1.0, 1.0, 1.0, 0.8, 1.05, 0.7))
    assert fell((1.0, 1.0, 0.9, 0.8, 0.7, 0.6))
