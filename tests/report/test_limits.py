from pathlib import Path

import pytest

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.limits import limits
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
