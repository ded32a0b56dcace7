"""What limited the rates, and runs in which one contender alone has a rate: it has no rank."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from deadheat import report
from deadheat.report.findings.analysis import analyze, at_least
from deadheat.report.findings.conclusion import answer, conclusions
from deadheat.report.findings.points import points
from deadheat.report.findings.precision import limits, lone_rate, precision
from deadheat.report.model.view import RunView
from tests.report.made import MadeRun, failed, made_run
from tests.report.sliced import SLICED, sliced_race

RATES = (1000.0, 1010.0, 990.0, 1005.0)  # of one instance each


def limits_of(run: MadeRun) -> list[str]:
    view = run.view()
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


@pytest.mark.parametrize(
    ("used", "half_load_us", "ranked"),
    [(0.94, 65.0, True), (0.94, 130.0, False), (0.85, 65.0, False)],
)
def test_a_trial_of_a_saturated_server_counts_however_busy_the_client_is(
    run: MadeRun, used: float, half_load_us: float, ranked: bool
) -> None:
    """Regression: `long` and `quick` dropped the fastest. One that spins is not saturated."""
    gates = {"fast": failed("client_cpu", 0.93)}
    cpu: dict[str, Any] = {"server_cpu_us_per_request": cpu_us(15_000.0, used)}
    run.race({"slow": 3000})
    run.race({"fast": 15_000}, gates_of=gates, requests_ok=7_500, **cpu)
    run.trial("fast", 7_500.0, kind="half_load", server_cpu_us_per_request=half_load_us)
    view = run.view()
    standings = {standing.name: standing for standing in analyze(view).main.standings}
    assert standings["fast"].ranked is ranked
    assert all(trial.valid for trial in standings["fast"].cell.trials)


def test_summarizes_a_limit_that_all_share(run: MadeRun) -> None:
    run.race({"a": 1000, "b": 990, "c": 980}, noise=0.0, server_cpu_us_per_request=950.0)
    assert limits_of(run) == ["the server's 1 CPU: all 3"]


def test_no_limit_without_the_servers_cpu_time(run: MadeRun) -> None:
    """Such as a server that already runs, so that its processes are not ours."""
    run.contender("a")
    run.trial("a", 1000.0, server_cpu_us_per_request=None)
    assert limits_of(run) == []


@pytest.mark.parametrize("limited", [3, 20, 36])
def test_a_lower_bound_needs_valid_trials_in_half_of_the_blocks(run: MadeRun, limited: int) -> None:
    """It is judged over the valid trials, and a bound needs them in half of the blocks."""
    run.race({"slow": 3000, "middle": 9000}, blocks=12)
    run.contender("fast")
    for trial in range(36):
        gates = failed("client_cpu", 0.93) if trial < limited else failed("steal")
        place = {"block": 1 + trial % 12, "invocation": 1 + trial // 12}
        cpu = {"server_cpu_us_per_request": cpu_us(15_000.0, 0.90)}
        run.trial("fast", 15_000.0, gates=gates, **place, **cpu)
    view = run.view()
    assert "the client: fast" in limits_of(run), "not the CPU that it nearly fills"
    bounds = at_least(view, analyze(view).main)
    assert [bound.contender.name for bound in bounds] == ["fast"] * (limited > 18)


def test_a_lone_survivor_has_no_rank(run: MadeRun) -> None:
    run.race({"alive": 1000, "dead": 900}, gates_of={"dead": failed()})
    view = run.ended()
    analysis = analyze(view)
    level = analysis.main
    assert level.ranking is None
    assert {s.name: s.reason for s in level.standings} == {
        "alive": "no other contender has a rate to compare with",
        "dead": "none of its 24 trials is valid",
    }
    assert answer(view, level) == "No ranking: only alive has a rate that counts"
    first, *_ = conclusions(view, analysis)
    assert first.topic == "no order"
    assert "only alive has a rate" in first.text
    standings = json.loads(report.write(view, "json"))["levels"][0]["standings"]
    assert [standing["rank_low"] for standing in standings] == [None, None]
    rows = csv.DictReader(report.write(view, "csv").splitlines())
    assert [row["rank_low"] for row in rows] == ["", ""]
    assert "| – | alive |" in report.write(view, "md")


def test_a_lone_survivor_keeps_the_lower_bound_of_a_faster_one(run: MadeRun) -> None:
    run.race({"fast": 2000, "slow": 1000}, gates_of={"fast": failed("client_cpu", 0.93)})
    view = run.ended()
    texts = [s.text for s in conclusions(view, analyze(view)) if s.topic == "lower bound"]
    assert len(texts) == 1
    assert texts[0].startswith("fast is at least")


def one_server(folder: Path, rates: tuple[float, ...] = RATES, why: str = "settled") -> RunView:
    run = made_run(folder / "runs.sqlite")
    run.contender("mine")
    run.contender("null-server", role="control")
    for invocation, rate in enumerate(rates, start=1):
        run.trial("mine", rate, invocation=invocation)
        run.trial("null-server", 4000.0, invocation=invocation)
    return run.ended(why=why)


def test_the_answer_is_the_rate_with_its_interval(tmp_path: Path) -> None:
    view = one_server(tmp_path)
    text = answer(view, analyze(view).main)
    match = re.fullmatch(r"mine answers 1,00\d requests/s \((\d+) to (1,\d+)\)", text)
    assert match, text
    assert int(match[1]) < 1000 < int(match[2].replace(",", ""))
    (tmp_path / "one").mkdir()
    view = one_server(tmp_path / "one", RATES[:1], "budget spent")
    assert answer(view, analyze(view).main) == (
        "mine answers 1,000 requests/s; the interval is unknown"
    )


def test_the_points_have_rate_latency_cost_limit_and_the_null_server(tmp_path: Path) -> None:
    view = one_server(tmp_path)
    texts = {p.topic: p.text for p in points(view, analyze(view), view.run_id)}
    assert list(texts)[:4] == ["RATE", "LATENCY", "COST", "LIMIT"]
    assert texts["RATE"].startswith("known to ±")
    assert texts["RATE"].endswith("from 4 starts")
    assert "p99" in texts["LATENCY"]
    assert texts["COST"] == "41.5 µs of CPU time per request, 48 MiB at the peak"
    assert re.search(
        r"answers 4,000 requests/s here: (3\.9\d|4) times as many$", texts["NULL SERVER"]
    )
    assert "OPEN" not in texts


def test_a_rate_that_is_not_known_well_is_open(tmp_path: Path) -> None:
    view = one_server(tmp_path, (1000.0, 1300.0, 800.0, 1100.0), "budget spent")
    (open_point,) = [p for p in points(view, analyze(view), view.run_id) if p.topic == "OPEN"]
    assert open_point.text == "the rate is not known to 3 %"
    assert open_point.command.startswith("deadheat resume ")


@pytest.mark.parametrize("verbose", [False, True])
def test_no_format_shows_a_rank_or_a_share(tmp_path: Path, verbose: bool) -> None:
    view = one_server(tmp_path)
    for text in (report.write(view, "terminal", verbose=verbose), report.write(view, "md")):
        for word in ("rank ", "rank\n", "% of fastest", "% of leader", "No ranking", "dead heat"):
            assert word not in text, word
        assert "mine answers" in text
    level = json.loads(report.write(view, "json"))["levels"][0]
    assert level["answer"].startswith("mine answers")
    (standing,) = level["standings"]
    assert standing["rank_low"] is standing["ratio_to_leader"] is None
    (row, *_) = csv.DictReader(report.write(view, "csv").splitlines())
    assert row["ratio_to_leader"] == row["rank_low"] == ""


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        (1, "the only trial failed the check steal"),
        (24, "none of 24 trials is valid, 24 failed the check steal"),
    ],
)
def test_without_a_valid_trial_there_is_no_rate(run: MadeRun, blocks: int, why: str) -> None:
    run.race({"mine": 1000}, invocations=1, blocks=blocks, gates_of={"mine": failed()})
    view = run.ended()
    level = analyze(view).main
    assert lone_rate(view, level) is None
    assert answer(view, level) == f"No rate: {why}"
    assert "rank" not in report.write(view, "terminal", verbose=True)


def test_says_beyond_how_many_requests_nothing_was_seen(tmp_path: Path) -> None:
    """A server that paused once in 116,800 requests of an instance never paused in its slices."""
    run = made_run(tmp_path / "runs.sqlite", protocol=SLICED)
    sliced_race(run, {"fast": 9000.0, "slow": 1000.0})
    view = run.view()
    (text,) = [s.text for s in precision(view, analyze(view)) if s.topic == "rare events"]
    assert re.match(r"no instance answered more than [\d,]+ \(slow\) to [\d,]+ \(fast\)", text)
