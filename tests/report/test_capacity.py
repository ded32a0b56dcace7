"""The highest rate that held an objective, in every format."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.report import load_view, write
from deadheat.report.findings.common_rate import capacities
from tests.report.made import MadeRun, failed, made_run

HELD: dict[str, Any] = {
    "name": "alpha",
    "rate_per_s": 4500.0,
    "above_per_s": 6000.0,
    "trials": 2,
    "trouble": None,
}


def searched(path: Path, **values: Any) -> MadeRun:
    """One search over two CPUs with a peak of 50 MiB; `values` replace those of `HELD`."""
    run = made_run(path / "runs.sqlite", cpus=2)
    run.contender("alpha")
    offered = {"kind": "capacity", "memory_peak_bytes": 50 * 1024**2}
    run.trial("alpha", 4500.0, offered_rate_per_s=4500.0, **offered)
    run.trial(
        "alpha",
        5900.0,
        offered_rate_per_s=6000.0,
        server_cpu_us_per_request=99.0,
        gates=failed(),
        **offered,
    )
    run.end(why="done", slo="p99=10ms", capacities=[HELD | values])
    return run


def text_of(run: MadeRun, format_name: str) -> str:
    return write(load_view(run.store, run.run_id), format_name, verbose=True)


@pytest.mark.parametrize("format_name", ["terminal", "md"])
def test_a_capacity_run_has_rates_and_no_ranking(tmp_path: Path, format_name: str) -> None:
    text = text_of(searched(tmp_path), format_name)
    assert "rank" not in text
    assert "no order" not in text
    assert "2 trials at offered rates" in text
    assert "The highest rate that held p99=10ms" in text
    assert "alpha: 4,500 requests/s held p99=10ms; 6,000 did not" in text
    assert "disturbed those trials: the server may hold more" in " ".join(text.split())
    assert "1 trial of alpha, which does not" in text


def test_divides_the_rate_by_cpus_and_memory(tmp_path: Path) -> None:
    run = searched(tmp_path)
    (result,) = capacities(load_view(run.store, run.run_id))
    assert result.rate_per_s_per_cpu == 2250
    assert result.rate_per_s_per_100_mib == 9000
    assert result.server_cpu_us_per_request == 41.5


def test_is_not_disturbed_if_one_trial_above_was_undisturbed(tmp_path: Path) -> None:
    run = searched(tmp_path, above_per_s=7000.0)
    offered = {"kind": "capacity", "offered_rate_per_s": 7000.0}
    run.trial("alpha", 6000.0, gates=failed("achieved"), **offered)
    run.trial("alpha", 6000.0, gates=(*failed("achieved"), *failed("steal")), **offered)
    (result,) = capacities(load_view(run.store, run.run_id))
    assert not result.disturbed


def test_reports_no_rate_if_none_held(tmp_path: Path) -> None:
    run = searched(tmp_path, rate_per_s=0.0, above_per_s=45.0)
    (result,) = capacities(load_view(run.store, run.run_id))
    assert (result.rate_per_s_per_cpu, result.rate_per_s_per_100_mib) == (None, None)
    text = "alpha: no rate held p99=10ms, not even 45 requests/s"
    assert text in text_of(run, "md")


def test_gives_the_reason_if_a_contender_was_not_measured(tmp_path: Path) -> None:
    run = searched(tmp_path, rate_per_s=0.0, above_per_s=None, trials=0, trouble="it never began")
    assert "alpha: not measured: it never began" in text_of(run, "md")


def test_json_and_csv_have_the_capacity(tmp_path: Path) -> None:
    run = searched(tmp_path)
    (result,) = json.loads(text_of(run, "json"))["capacities"]
    assert (result["slo"], result["rate_per_s"], result["above_per_s"]) == ("p99=10ms", 4500, 6000)
    rows = list(csv.DictReader(io.StringIO(text_of(run, "csv"))))
    assert [(row["kind"], row["offered_rate_per_s"]) for row in rows] == [
        ("capacity", "4500.0"),
        ("capacity", "6000.0"),
    ]
