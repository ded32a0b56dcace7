"""A contender that outran the client is not ranked, and is known to be faster all the same."""

from collections.abc import Sequence
from pathlib import Path

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.bounds import AtLeast, at_least
from deadheat.report.findings.conclusion import conclusions
from deadheat.report.model.load import load_view
from deadheat.store import Gate
from tests.report.made import failed, made_run


def found(folder: Path, rate: float, gates: Sequence[Gate]) -> tuple[AtLeast, ...]:
    run = made_run(folder / "runs.sqlite")
    run.race({"fast": rate, "middle": 9000, "slow": 3000}, blocks=12, gates_of={"fast": gates})
    run.end()
    view = load_view(run.store, run.run_id)
    analysis = analyze(view)
    assert "fast" not in [one.name for one in analysis.main.ranked]
    bounds = at_least(view, analysis.main)
    told = [one.text for one in conclusions(view, analysis) if one.topic == "at least"]
    assert len(told) == len(bounds)
    return bounds


def test_its_rate_is_a_lower_bound_that_beats_those_below(tmp_path: Path) -> None:
    (one,) = found(tmp_path, 15000, (*failed("client_cpu"), *failed("ceiling")))
    assert (one.contender.name, one.beaten) == ("fast", ("middle", "slow"))
    assert 1 < one.ratio_low < 15000 / 9000


def test_a_bound_below_another_says_nothing_of_that_one(tmp_path: Path) -> None:
    (one,) = found(tmp_path, 6000, failed("client_cpu"))
    assert one.beaten == ("slow",)


def test_too_few_blocks_for_an_order_bound_nothing(tmp_path: Path) -> None:
    """Regression: a traceback, where a busy machine failed a gate in the second of two heats."""
    run = made_run(tmp_path / "runs.sqlite")
    controls = {"null-server": 50_000, "reference": 12_000}
    for name in controls:
        run.contender(name, role="control")
    run.race(controls | {"slow": 3000}, invocations=1, blocks=2, heat=1)
    run.race(
        controls | {"fast": 9000},
        invocations=1,
        blocks=2,
        heat=2,
        gates_of={"fast": failed("ceiling")},
    )
    run.end()
    view = load_view(run.store, run.run_id)
    assert at_least(view, analyze(view).main) == ()


def test_a_canary_that_was_not_measured_hinders_no_bound(tmp_path: Path) -> None:
    """Regression: a traceback."""
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("reference", role="control", fault="it did not start")
    gates = {"fast": failed("ceiling")}
    run.race({"fast": 15000, "slow": 3000}, blocks=12, gates_of=gates)
    run.race({"middle": 9000}, blocks=12)
    run.end()
    view = load_view(run.store, run.run_id)
    (one,) = at_least(view, analyze(view).main)
    assert one.beaten == ("middle", "slow")


def test_any_other_doubt_makes_it_no_bound(tmp_path: Path) -> None:
    assert found(tmp_path, 15000, (*failed("client_cpu"), *failed("steal"))) == ()
