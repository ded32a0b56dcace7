from pathlib import Path
from typing import Any

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.bounds import at_least
from deadheat.report.findings.limits import Limit, limit_of, limits
from deadheat.report.model.load import load_view
from tests.report.made import MadeRun, failed, made_run


def limits_of(run: MadeRun) -> list[str]:
    view = load_view(run.store, run.run_id)
    return [statement.text for statement in limits(view, analyze(view).main)]


def cpu_us(rate_per_s: float, cpus: float) -> float:
    """CPU time per request of a server that keeps this many CPUs busy at that rate."""
    return cpus * 1e6 / rate_per_s


@pytest.mark.parametrize(
    ("cpus", "workers", "used", "beginning"),
    [
        (1, 1, 0.97, "the server's 1 CPU: a"),
        (4, 4, 3.9, "the server's 4 CPUs: a"),
        (4, 1, 1.0, "too few workers to use the server's 4 CPUs: a"),
        (4, 2, 1.0, "no CPU: a (25 % used) left part of the server's 4 CPUs idle; requests waited"),
        (1, 1, 0.12, "no CPU: a (12 % used) left part of the server's 1 CPU idle; requests waited"),
    ],
)
def test_a_rate_is_limited_by_the_cpus_in_use_or_by_none(
    tmp_path: Path, cpus: int, workers: int, used: float, beginning: str
) -> None:
    run = made_run(tmp_path / "runs.sqlite", cpus=cpus)
    run.contender("a", workers=workers)
    run.trial("a", 1000.0, server_cpu_us_per_request=cpu_us(1000.0, used))
    (text,) = limits_of(run)
    assert text.startswith(beginning)


def test_a_rate_near_the_ceiling_is_limited_by_the_client(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("a")
    for block in (1, 2, 3):
        gates = failed("client_cpu", 0.93) if block > 1 else failed("steal")
        run.trial("a", 24_000.0, block=block, gates=gates)
    assert limits_of(run) == ["the client: a"]


@pytest.mark.parametrize(
    ("used", "half_load_us", "ranked"),
    [(0.94, 65.0, True), (0.94, 130.0, False), (0.85, 65.0, False)],
)
def test_a_trial_of_a_saturated_server_counts_however_busy_the_client_is(
    tmp_path: Path, used: float, half_load_us: float, ranked: bool
) -> None:
    """Regression: `long` and `quick` dropped the fastest. One that spins is not saturated."""
    run = made_run(tmp_path / "runs.sqlite")
    gates = {"fast": failed("client_cpu", 0.93)}
    cpu: dict[str, Any] = {"server_cpu_us_per_request": cpu_us(15_000.0, used)}
    run.race({"slow": 3000})
    run.race({"fast": 15_000}, gates_of=gates, requests_ok=7_500, **cpu)
    run.trial("fast", 7_500.0, kind="half_load", server_cpu_us_per_request=half_load_us)
    view = load_view(run.store, run.run_id)
    standings = {standing.name: standing for standing in analyze(view).main.standings}
    assert standings["fast"].ranked is ranked
    assert all(trial.valid for trial in standings["fast"].cell.trials)


def test_summarizes_a_limit_that_all_share(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 1000, "b": 990, "c": 980}, noise=0.0, server_cpu_us_per_request=950.0)
    assert limits_of(run) == ["the server's 1 CPU: all 3"]


def test_no_limit_without_the_servers_cpu_time(tmp_path: Path) -> None:
    """Such as a server that already runs, so that its processes are not ours."""
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("a")
    run.trial("a", 1000.0, server_cpu_us_per_request=None)
    assert limits_of(run) == []


def test_no_limit_by_cpu_beside_a_rate_that_the_client_limited(tmp_path: Path) -> None:
    """Regression: "limited by the server's 1 CPU: all 8" beside "the client was its limit"."""
    run = made_run(tmp_path / "runs.sqlite")
    busy = {"server_cpu_us_per_request": cpu_us(15_000.0, 0.90)}
    run.race({"slow": 3000, "middle": 9000}, blocks=12)
    run.contender("fast")
    for block in range(1, 13):
        for invocation in (1, 2, 3):
            gates = failed("client_cpu", 0.93)
            run.trial("fast", 15_000.0, block=block, invocation=invocation, gates=gates, **busy)
    view = load_view(run.store, run.run_id)
    level = analyze(view).main
    (bound,) = at_least(view, level)
    assert bound.contender.name == "fast"
    fast = bound.contender
    assert limit_of(view, fast, fast.cells[100]) is Limit.CLIENT
    assert "the client: fast" in limits_of(run)


@pytest.mark.parametrize("limited", [3, 20, 36])
def test_a_lower_bound_needs_valid_trials_in_half_of_the_blocks(
    tmp_path: Path, limited: int
) -> None:
    """It is judged over the valid trials, and a bound needs them in half of the blocks."""
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"slow": 3000, "middle": 9000}, blocks=12)
    run.contender("fast")
    for trial in range(36):
        gates = failed("client_cpu", 0.93) if trial < limited else failed("steal")
        place = {"block": 1 + trial % 12, "invocation": 1 + trial // 12}
        run.trial("fast", 15_000.0, gates=gates, **place)
    view = load_view(run.store, run.run_id)
    fast = next(contender for contender in view.contenders if contender.name == "fast")
    assert limit_of(view, fast, fast.cells[100]) is Limit.CLIENT
    assert bool(at_least(view, analyze(view).main)) == (limited > 18)
