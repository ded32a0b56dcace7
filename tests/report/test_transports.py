"""Reports of a race over several transports, and of handshakes."""

import json
from pathlib import Path

import numpy as np
import pytest

from deadheat.console import console as make_console
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.cautions import cautions
from deadheat.report.findings.comparison import changes
from deadheat.report.findings.heading import heading
from deadheat.report.findings.next_step import run_anew
from deadheat.report.findings.profile import Profile, profile, sentences
from deadheat.report.findings.transports import handshakes
from deadheat.report.formats import json_document, markdown, terminal
from deadheat.report.model.view import RunView
from tests.report.made import SETTLE, MadeRun, histogram, made_run
from tests.report.sliced import SLICED, add_slices, race_over_two_transports
from tests.stats.races import binomial_limit

PROTOCOL = {**SETTLE, "transports": ["http", "https"], "streams": 1}
RATES = {
    "hello": {"a": 5000.0, "b": 4000.0, "c": 3000.0},
    "hello:https": {"a:https": 2500.0, "b:https": 3000.0},
}
CPU_US = {"hello": 10.0, "hello:https": 14.5}
MEDIAN_US = {"hello": 1000, "hello:https": 1500}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    run = made_run(tmp_path_factory.mktemp("transports") / "runs.sqlite", protocol=PROTOCOL)
    manifest = {"language": "Go", "framework": "net/http", "workloads": ["hello"]}
    for workload, rates in RATES.items():
        for name in rates:
            run.contender(name, manifest=manifest)
        times = {"service_us": histogram(6000, MEDIAN_US[workload])}
        cpu_us = CPU_US[workload]
        run.race(rates, workload=workload, server_cpu_us_per_request=cpu_us, histograms=times)
    return run.ended()


def overview(view: RunView) -> Profile:
    made = profile(view)
    assert made is not None
    return made


def terminal_text(view: RunView) -> str:
    return terminal.shown(make_console(width=80, styled=False), view)


def test_each_transport_has_a_ranking_with_the_names_of_the_servers(view: RunView) -> None:
    orders = {
        each.workload: [standing.name for standing in analyze(each).main.standings]
        for each in view.by_workload
    }
    assert orders == {"hello": ["a", "b", "c"], "hello:https": ["b", "a"]}


def test_what_a_transport_costs_has_intervals_over_the_starts(view: RunView) -> None:
    costs = {cost.name: cost for cost in overview(view).transports}
    assert list(costs) == ["a", "b"], "c speaks plain HTTP alone"
    cost = costs["a"]
    assert (cost.workload, cost.by) == ("hello:https", "hello")
    low, high = cost.rate_ratio_low, cost.rate_ratio_high
    assert cost.rate_ratio == pytest.approx(0.5, rel=0.05)
    assert low is not None
    assert high is not None
    assert cost.rate_ratio is not None
    assert low <= cost.rate_ratio <= high
    assert cost.cpu_us_more == pytest.approx(4.5)
    p99_more = cost.service_us_p99_more, cost.service_us_p99_more_low, cost.service_us_p99_more_high
    assert p99_more == pytest.approx((5000, 5000, 5000), rel=0.01), "each start had the same"


@pytest.fixture
def sliced(tmp_path: Path) -> MadeRun:
    """A race in slices without contenders."""
    protocol = {**SLICED, "transports": ["http", "https"], "streams": 1}
    return made_run(tmp_path / "runs.sqlite", protocol=protocol)


def test_rates_of_a_race_in_slices_come_from_one_model_of_both_transports(sliced: MadeRun) -> None:
    add_slices(sliced, {"a": 5000.0, "b": 4000.0})
    add_slices(sliced, {"a:https": 2500.0, "b:https": 3000.0}, workload="hello:https")
    view = sliced.ended()
    first, other = view.by_workload
    both = other.sliced[100].both
    assert first.sliced[100].both is None
    assert both is not None
    assert both.names == ("a hello", "b hello", "a hello:https", "b hello:https")
    by_starts = changes(first, other, 100)
    for cost, truth in zip(overview(view).transports, (0.5, 0.75), strict=True):
        low, high = cost.rate_ratio_low, cost.rate_ratio_high
        assert low is not None
        assert high is not None
        assert low < truth < high
        assert high - low < by_starts[cost.name].high - by_starts[cost.name].low, cost


@pytest.mark.parametrize("name", ["mixed 8", "mixed 6, bursts", "one server"])
def test_rates_over_two_transports_are_those_of_simulated_servers(name: str) -> None:
    """The short form of `python -m bench.model transports`."""
    generator, races = np.random.default_rng(23), 40
    outside, errors, _ = zip(
        *(race_over_two_transports(name, generator) for _ in range(races)), strict=True
    )
    assert sum(outside) / races <= binomial_limit(0.05, races)
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(races)


def test_the_report_says_which_tls_was_used_and_which_server_has_another(tmp_path: Path) -> None:
    protocol = {**PROTOCOL, "transports": ["https"]}
    run = made_run(tmp_path / "runs.sqlite", protocol=protocol)
    usual, older = "TLS 1.3, TLS_AES_128_GCM_SHA256, X25519", "TLS 1.2, TLS_OTHER, X25519"
    suites = {"a": usual, "b": f"{usual}MLKEM768", "c": older}
    run.race({f"{name}:https": 1000.0 for name in suites}, workload="hello:https")
    for name, tls in suites.items():
        run.start(f"{name}:https", 4, behavior={"status": 200, "tls": tls})
    view = run.ended()
    (line,) = [line for line in heading(view, analyze(view)) if "TLS" in line]
    assert line.startswith(f"hello:https: {usual} with 1 server; ")
    assert f"{older} with 1 server" in line
    (caution,) = [each for each in cautions(view) if each.code == "tls"]
    assert caution.contenders == ("c",), "the key exchange of kept connections does not count"
    assert caution.text.startswith("c: TLS 1.2, TLS_OTHER; most others used TLS 1.3, TLS_AES_128_")


def test_the_next_step_names_the_transport(view: RunView) -> None:
    secured = view.on("hello:https")
    assert [each.setting for each in secured.contenders] == ["default", "default"]
    command = run_anew(secured, ["a", "b"], [])
    assert command.endswith("run a b --transport https"), command


def test_sentences_say_what_it_costs_and_how_well_http_predicts_it(view: RunView) -> None:
    first, *others = sentences(overview(view))
    assert first.startswith("hello:https has ")
    assert "of the rate of hello and takes 4.5 µs more CPU time (medians of 2 servers)" in first
    assert any("hello predicts hello:https with tau-b" in text for text in others)
    assert not any("CPU time" in text for text in others), "one estimate of one thing"
    assert "What hello:https costs beside hello" in markdown.write(view)


def test_bug_a_server_alone_could_not_be_compared_over_two_transports(sliced: MadeRun) -> None:
    """One server has no order that a transport could predict, and still a cost of TLS."""
    add_slices(sliced, {"a": 5000.0})
    add_slices(sliced, {"a:https": 2500.0}, workload="hello:https")
    view = sliced.ended()
    (cost,) = overview(view).transports
    assert cost.rate_ratio_low is not None
    assert cost.rate_ratio_high is not None
    assert cost.rate_ratio_low < 0.5 < cost.rate_ratio_high
    (sentence,) = sentences(overview(view))
    assert sentence.startswith("hello:https has 50.0 % of the rate of hello")
    for text in (markdown.write(view), terminal_text(view)):
        assert "What hello:https costs beside hello" in text
        assert "predicts" not in text
        assert "compared" not in text


@pytest.mark.parametrize("keep_alive", [True, False])
def test_a_connection_per_request_over_tls_has_a_table_of_handshakes(
    tmp_path: Path, keep_alive: bool
) -> None:
    """A connection that is kept makes its handshake beside all others, so that is not shown."""
    protocol = {**SETTLE, "transports": ["https"], "keep_alive": keep_alive}
    run = made_run(tmp_path / "runs.sqlite", protocol=protocol)
    times = {"service_us": histogram(6000), "handshake_us": histogram(6600, 2000)}
    rates = {"a:https": 500.0, "b:https": 1000.0}
    run.race(rates, noise=0.0, workload="hello:https", histograms=times)
    view = run.ended()
    rows = handshakes(view)
    assert [row.name for row in rows] == ([] if keep_alive else ["b", "a"])
    document = json.loads(json_document.write(view))
    assert len(document["handshakes"]) == len(rows)
    text = markdown.write(view)
    assert ("## Handshakes" in text) == ("handshakes/s" in terminal_text(view)) == bool(rows)
    for row in rows:
        rate_per_s = next(c.cells[100] for c in view.contenders if c.name == row.name)
        assert row.per_s == pytest.approx(1.1 * (rate_per_s.rate_per_s("median") or 0.0))
        assert row.server_cpu_us == pytest.approx(41.5 / 1.1)
        assert row.us_p50 == pytest.approx(2000, rel=0.01)
        assert row.us_p99 == pytest.approx(20000, rel=0.01)
