"""`python -m bench.interop` without its loads: what it reads, and when it agrees."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.interop import (
    LOGS,
    MADE,
    SERVERS,
    agrees,
    counts_of,
    counts_of_h2load,
    ratio_of,
    report,
    table,
    with_logs,
)

H2LOAD = """
finished in 2.00s, 12345.50 req/s, 1.20MB/s
requests: 24691 total, 24741 started, 24691 done, 24690 succeeded, 1 failed, 1 errored, 0 timeout
"""


def done(out: str, err: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.CompletedProcess([], 0, out, err)


def loaded(
    server: str, *rates: float, logged: int | None = None, failed: dict[str, int] | None = None
) -> dict[str, Any]:
    """A round of `deadheat-load` at each of these rates, beside one of h2load."""
    count = {"sent": 5, "failed": failed or {}, "logged": logged}
    ours = [count | {"rate_per_s": rate, "busy": 0.5} for rate in rates]
    theirs = [count | {"rate_per_s": 10.0, "busy": 0.97} for _ in rates]
    rounds = {"deadheat-load": ours, "h2load": theirs}
    return {"server": server, "transport": "h2", "rounds": rounds}


def test_counts_of_h2load_are_read() -> None:
    counted = counts_of_h2load(done(H2LOAD))
    assert counted == {"rate_per_s": 12345.5, "sent": 24741, "failed": {"failed": 1}}
    assert counts_of_h2load(done("", "no")) == counts_of(done("", "no")) == {"fault": "no"}


def test_requests_of_the_preflight_and_the_warm_up_were_sent_too() -> None:
    document = {
        "rate_per_s": 90.0,
        "requests": {"scheduled": 90, "ok": 89, "preflight": 1},
        "classes": {"ok": 89, "goaway": 1, "status": 0},
        "warmup": {"scheduled": 10, "classes": {"ok": 8, "goaway": 1, "status": 1}},
        "http2": {"retried": 2},
    }
    assert counts_of(done(json.dumps(document))) == {
        "rate_per_s": 90.0,
        "sent": 103,
        "failed": {"goaway": 2, "status": 1},
    }


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (loaded("a", 10.0, logged=5), True),
        (loaded("a", 10.0), True),
        (loaded("a", 10.0, 9.0, logged=6), False),
        (loaded("a", 10.0, logged=5, failed={"goaway": 1}), False),
        ({"server": "a", "transport": "h2", "fault": "it lacks a tool"}, False),
    ],
)
def test_counts_agree_if_the_server_logged_what_was_sent(
    load: dict[str, Any], expected: bool
) -> None:
    assert agrees(load) is expected
    cells = table([load]).splitlines()[-1].count("|")
    assert cells == table([]).splitlines()[0].count("|")


def test_a_ratio_has_an_interval_over_its_rounds() -> None:
    assert ratio_of([], [8.0]) == "–"
    assert ratio_of([10.0], [8.0, 8.0]) == "1.25"
    assert ratio_of([10.0, 10.0], [8.0, 8.0]) == "1.25 [1.25, 1.25]"
    by_hand = "1.10 [0.87, 1.38]"  # e^0.0925, and 4.303 * 0.0527 to each side
    assert ratio_of([10.0, 12.0, 11.0], [10.0, 10.0, 10.0]) == by_hand


def test_below_the_table_are_the_rows_that_differ_with_joint_intervals() -> None:
    rates_by_server = {"near": (9.0, 11.0, 10.0), "wide": (10.0, 11.0, 11.0), "once": (12.0,)}
    near = [loaded(server, *rates) for server, rates in rates_by_server.items()]
    last = report([*near, loaded("far", 15.0, 15.1, 15.2)]).splitlines()[-1]
    assert last.startswith("2 of 3 intervals contain 1, and the median of the ratios is 1.07.")
    assert "these differ from 1: far over h2, 1.51 [" in last
    assert last.endswith("(h2load used 97% of its CPU).")
    assert report(near).endswith("these differ from 1: none.")
    assert report(near[2:]) == table(near[2:])


def test_servers_write_a_log_in_a_catalog_of_their_own(tmp_path: Path) -> None:
    root = with_logs(tmp_path, SERVERS)
    assert {path.name for path in (root / "servers").iterdir()} == {*SERVERS} - {*MADE}
    for name, (file, *_) in LOGS.items():
        assert str(root / f"{name}.log") in (root / "servers" / name / file).read_text()
