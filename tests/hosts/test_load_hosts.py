"""Two load hosts for one server. All share these CPUs, so gates may fail."""

import json
from pathlib import Path

import pytest

from deadheat.load import find_engine
from deadheat.store import Store, read_run
from deadheat.store.listing import run_summaries
from tests.host.support import eventually
from tests.hosts.bed import SERVER, Bed, second_load_host

PROTOCOL = """
name = "both"
about = "A moment"
connections = [5]
duration_s = 0.05
controls = true

[slices]
rounds = 2
control_every = 1

[warmup]
kind = "fixed"
duration_s = 0.1

[stopping]
kind = "settle"
budget_s = 4
"""
FIXED = """
name = "once"
about = "A moment"
connections = [3]
duration_s = 0.1
controls = true

[warmup]
kind = "fixed"
duration_s = 0.1

[stopping]
kind = "fixed"
repetitions = 1
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    for name in ("recipes", "protocols", "servers"):
        (folder / name).mkdir(parents=True)
    (folder / "protocols" / "both.toml").write_text(PROTOCOL)
    (folder / "protocols" / "once.toml").write_text(FIXED)
    return folder


@pytest.mark.parametrize("protocol", ["both", "once"])
def test_two_hosts_load_one_server_together(bed: Bed, catalog: Path, protocol: str) -> None:
    """The load host of the bed, which runs deadheat, and another one."""
    server = [find_engine(), "--bind", "{host}", "--null-server", "{port}"]
    path = catalog / "runs.sqlite"
    options = ("--catalog", str(catalog), "--store", str(path), "--protocol", protocol, "--json")
    with second_load_host(bed) as second:
        where = ("--server-host", bed.target, "--load-host", ".", "--load-host", second)
        process = bed.deadheat("run", *options, *where, "--", *server)
        out, err = process.communicate(timeout=120)
        eventually(lambda: bed.left() == [], within_s=5)
    assert out, err
    assert [host["role"] for host in json.loads(out)["hosts"]] == ["server", "load 2", "load"]
    with Store(path, read_only=True) as opened:
        (summary,) = run_summaries(opened)
        run = read_run(opened, summary.run_id)
    assert run.trials
    for trial in run.trials:
        assert (trial.state, trial.reason) == ("ok", None)
        assert f"http://{SERVER}:" in " ".join(trial.command)
        connections = trial.connections
        assert trial.result["connections_served"] == connections
        assert trial.command[trial.command.index("-c") + 1] == str((connections + 1) // 2)
        assert trial.result["skew_us"] > 0
    report = bed.deadheat("report", "-v", "--store", str(path)).communicate()[0]
    assert "2 load hosts: they began each slice at most" in report
    assert "3 hosts: a request to the agent takes server host" in report
    assert "load host 2" in report
