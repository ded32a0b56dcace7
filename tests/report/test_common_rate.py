"""Offered rates: two orders at each common rate, and the highest rate that held an objective."""

import csv
import io
import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deadheat.campaign.past import COMMON_RATE
from deadheat.report import write
from deadheat.report.findings import common_rate
from deadheat.report.findings.common_rate import capacities, capacity_statements, rate_levels
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import rank
from tests.report.made import SETTLE, MadeRun, failed, histogram, made_run
from tests.stats.races import binomial_limit

PROTOCOL: Mapping[str, Any] = SETTLE | {
    "name": "common-rate",
    "kind": "rate",
    "rates": [1000.0, 10000.0],
    "price_per_core_hour": 0.04,
}
COSTS_US = {"cheap": 10.0, "dear": 20.0, "late": 30.0}


def raced(
    path: Path,
    costs_us: Mapping[str, float] = COSTS_US,
    *,
    requests: int = 6000,
    starts: int = 3,
    noise: float = 0.01,
) -> MadeRun:
    """Trials at both rates; `late` does not hold 10,000 requests/s."""
    run = made_run(path / "runs.sqlite", protocol=PROTOCOL)
    for name in costs_us:
        run.contender(name)
    places = itertools.product(range(1, starts + 1), (0, 1), PROTOCOL["rates"], costs_us.items())
    for start, half, rate_per_s, (name, cost_us) in places:
        is_late = name == "late" and rate_per_s > 1000
        run.trial(
            name,
            rate_per_s,
            kind=COMMON_RATE,
            invocation=start,
            block=2 * start - half,
            offered_rate_per_s=rate_per_s,
            server_cpu_us_per_request=cost_us * run.random.lognormvariate(0, noise),
            histograms={"response_us": histogram(requests, round(10 * cost_us))},
            gates=failed("achieved", 0.6) if is_late else (),
            result={"reached_per_s": 6000.0 if is_late else rate_per_s},
        )
    run.end(why="budget spent")
    return run


def text_of(run: MadeRun, format_name: str) -> str:
    return write(run.view(), format_name, verbose=True)


def test_ranks_by_cost_and_by_wait_at_each_rate(tmp_path: Path) -> None:
    low, high = rate_levels(raced(tmp_path).view())
    for measure in ("cost", "wait"):
        assert [each.row and each.row.rank for each in low.by(measure)] == ["1", "2", "3"]
        assert [each.name for each in high.by(measure)] == ["cheap", "dear", "late"]
    times = low.cost[1].times_least
    assert times is not None
    assert (times.low or math.inf) < 2 < (times.high or 0)
    *_, late = high.cost
    assert (late.row, late.reached_per_s) == (None, 6000)
    assert late.reason == "does not hold this rate: it reached 6,000 requests/s"
    assert low.cost[0].cores == pytest.approx(0.01, rel=0.02)
    assert high.cost[1].price_per_million == pytest.approx(20 / 3600 * 0.04, rel=0.02)


def test_a_p99_of_too_few_requests_is_not_ranked(tmp_path: Path) -> None:
    low, _ = rate_levels(raced(tmp_path, requests=1200).view())
    assert {each.reason for each in low.wait} == {"a p99 needs 10,000 requests, and it has 7,200"}


def test_bug_a_ranking_without_a_server_spent_the_error_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The intervals of the others became narrower because one had none."""
    view = raced(tmp_path).view()
    whole = rate_levels(view)[0].rankings["cost"]
    monkeypatch.setattr(
        common_rate,
        "without_interval",
        lambda ranking: frozenset({"late"} & {row.name for row in ranking.rows}),
    )
    others = rate_levels(view)[0].rankings["cost"]
    assert whole is not None
    assert others is not None
    assert [row.name for row in others.rows] == ["cheap", "dear"]
    assert others.level.alpha == pytest.approx(whole.level.alpha)


@pytest.mark.parametrize("format_name", ["terminal", "md"])
def test_says_what_the_traffic_costs(tmp_path: Path, format_name: str) -> None:
    text = " ".join(text_of(raced(tmp_path), format_name).replace("\\", "").split())
    assert "At 1,000 requests/s, cheap needs the least CPU time: 10.0 µs per request" in text
    assert "At 10,000 requests/s, by p99 response time" in text
    assert "price of" in text
    assert "idle CPUs were kept awake" in text
    assert "cheap < dear +" in text.replace("&lt;", "<"), text
    assert "late: does not hold this rate: it reached 6,000 requests/s" in text
    assert format_name == "terminal" or "warmed up all contenders, at full load" in text


def test_json_and_csv_have_both_orders(tmp_path: Path) -> None:
    run = raced(tmp_path)
    orders = json.loads(text_of(run, "json"))["rates"]
    assert [(each["offered_rate_per_s"], each["measure"]) for each in orders] == [
        *((1000, "cost"), (1000, "wait")),
        *((10000, "cost"), (10000, "wait")),
    ]
    assert orders[0]["standings"][1]["rank_low"] == 2
    rows = list(csv.DictReader(io.StringIO(text_of(run, "csv"))))
    dear = next(r for r in rows if r["name"] == "dear" and r["offered_rate_per_s"] == "10000.0")
    assert (dear["rank_low"], dear["p99_rank_high"]) == ("2", "2")
    assert float(dear["server_cpus_used"]) == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize(
    ("starts", "words"), [(4, "1,000 requests/s, CPU time per request: "), (1, "no comparison has")]
)
def test_what_is_open_has_a_command_that_keeps_the_rates(
    tmp_path: Path, starts: int, words: str
) -> None:
    run = raced(tmp_path, {"alpha": 10.0, "beta": 10.0}, starts=starts, noise=0.1)
    text = text_of(run, "terminal")
    assert f"OPEN       {words}" in text
    assert "deadheat run alpha beta --rate 1000,10000 --budget " in text


def copies(random: np.random.Generator, measure: str) -> np.ndarray:
    """[start, block, contender] of six copies: of CPU time per request, or of 1 / p99.

    A p99 is of 2,000 requests with a heavy tail, and of starts that differ.
    """
    shape = (4, 2, 6)
    starts = random.normal(0, 0.02, (4, 1, 6)) + random.normal(0, 0.05, (4, 2, 1))
    if measure == "cost":
        return np.exp(starts + random.normal(0, 0.02, shape))
    p99_us = np.empty(shape)
    for place in np.ndindex(*shape):
        response_us = 300 * np.exp(random.standard_t(4, 2000) * 0.4 + starts[place])
        p99_us[place] = np.quantile(response_us, 0.99)
    return 1 / p99_us


@pytest.mark.parametrize(("measure", "races"), [("cost", 200), ("wait", 100)])
def test_copies_are_not_separated_falsely(measure: str, races: int) -> None:
    """At most 5 % of the tables have a pair that is separated, but for chance."""
    random = np.random.default_rng(48)
    names = [f"copy-{number}" for number in range(6)]
    wrong = sum(
        any(
            pair.verdict is Verdict.SEPARATED
            for pair in rank(copies(random, measure), names, margin=0.03).pairs
        )
        for _ in range(races)
    )
    assert wrong / races <= binomial_limit(0.05, races)


def searched(path: Path, **values: Any) -> MadeRun:
    """One search over two CPUs with a peak of 50 MiB; `values` of its stored result."""
    run = made_run(path / "runs.sqlite", cpus=2)
    run.contender("alpha")
    offered = {"kind": "capacity", "memory_peak_bytes": 50 * 1024**2}
    run.trial("alpha", 4500.0, offered_rate_per_s=4500.0, **offered)
    above = {"offered_rate_per_s": 6000.0, "server_cpu_us_per_request": 99.0, "gates": failed()}
    run.trial("alpha", 5900.0, **above, **offered)
    held = {"name": "alpha", "rate_per_s": 4500.0, "above_per_s": 6000.0, "trials": 2}
    run.end(why="done", slo="p99=10ms", capacities=[held | {"trouble": None} | values])
    return run


def test_divides_the_rate_by_cpus_and_memory(tmp_path: Path) -> None:
    view = searched(tmp_path).view()
    (result,) = capacities(view)
    assert result.rate_per_s_per_cpu == 2250
    assert result.rate_per_s_per_100_mib == 9000
    assert result.server_cpu_us_per_request == 41.5
    (statement,) = capacity_statements(view)
    assert statement.text.endswith(
        "6,000 did not, but the machine disturbed those trials: the server may hold more"
    )


def test_is_not_disturbed_if_one_trial_above_was_undisturbed(tmp_path: Path) -> None:
    run = searched(tmp_path, above_per_s=7000.0)
    offered = {"kind": "capacity", "offered_rate_per_s": 7000.0}
    run.trial("alpha", 6000.0, gates=failed("achieved"), **offered)
    run.trial("alpha", 6000.0, gates=(*failed("achieved"), *failed("steal")), **offered)
    (result,) = capacities(run.view())
    assert not result.disturbed


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"above_per_s": 45.0}, "no rate held p99=10ms, not even 45 requests/s"),
        (
            {"above_per_s": None, "trials": 0, "trouble": "it never began"},
            "not measured: it never began",
        ),
    ],
)
def test_says_why_there_is_no_rate(tmp_path: Path, values: dict[str, Any], text: str) -> None:
    run = searched(tmp_path, rate_per_s=0.0, **values)
    (result,) = capacities(run.view())
    assert (result.rate_per_s_per_cpu, result.rate_per_s_per_100_mib) == (None, None)
    assert [each.text for each in capacity_statements(run.view())] == [f"alpha: {text}"]
