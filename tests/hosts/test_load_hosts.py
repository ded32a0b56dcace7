"""Two load hosts for one server. All share these CPUs, so gates may fail."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deadheat.load import find_engine
from deadheat.store import Store, read_run
from deadheat.store.listing import run_summaries
from tests.host.support import eventually
from tests.hosts.bed import SERVER, Bed, second_load_host
from tests.hosts.greeting import ENDLESS, MANY_SLICES, race_protocol, summaries

REPLAY = """
name = "page"
about = "A moment"
kind = "alone"
generator = "wrk"
threads = 4
connections = [4]
duration_s = 1

[warmup]
kind = "none"

[stopping]
kind = "fixed"
repetitions = 1

[origin]
figures = "page"
command = "wrk -c 4"
body = "Hello"
client_host = "another"
port = 4000
server = "a machine"
sources = ["a page"]
"""
FIGURES = """\
row,connections,rate_per_s,precision,source,requests,errors_connect,errors_read,errors_write,errors_timeout,bytes_read
The null server,4,1000,1,a page,,,,,,
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    for name in ("recipes", "protocols", "servers", "published"):
        (folder / name).mkdir(parents=True)
    endless = race_protocol("both", ENDLESS, connections="[5]", slices=MANY_SLICES)
    (folder / "protocols" / "both.toml").write_text(endless)
    (folder / "protocols" / "page.toml").write_text(REPLAY)
    (folder / "published" / "page.csv").write_text(FIGURES)
    return folder


def has_trials(path: Path) -> bool:
    return any(summary.trials for summary in summaries(path))


def test_two_hosts_load_one_server_together(bed: Bed, catalog: Path) -> None:
    """The load host of the bed, which runs deadheat, and another one, over TLS."""
    server = [find_engine(), "--bind", "{host}", "--null-server", "{port}"]
    server += ["--cert", "{cert}", "--key", "{key}"]
    path = catalog / "runs.sqlite"
    options = ("--catalog", str(catalog), "--store", str(path), "--protocol", "both")
    with second_load_host(bed) as second:
        where = ("--server-host", bed.target, "--load-host", ".", "--load-host", second)
        process = bed.deadheat("run", *options, *where, "--", *server)
        eventually(lambda: has_trials(path) or process.poll() is not None, within_s=120)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        eventually(lambda: bed.left() == [], within_s=30)
    with Store(path, read_only=True) as opened:
        (summary,) = run_summaries(opened)
        run = read_run(opened, summary.run_id)
    assert [host.role for host in run.hosts] == ["server", "load 2", "load"], err
    assert run.trials, err
    for trial in run.trials:
        assert (trial.state, trial.reason) == ("ok", None)
        assert f" https://{SERVER}:" in " ".join(trial.command)
        connections = trial.connections
        assert trial.result.connections_served == connections
        assert trial.command[trial.command.index("-c") + 1] == str((connections + 1) // 2)
        assert (trial.result.skew_us or 0.0) > 0
    report = bed.deadheat("report", summary.run_id, "-v", "--store", str(path)).communicate()[0]
    assert "2 load hosts: they began each slice at most" in report
    assert "3 hosts: a request to the agent takes server host" in report
    assert "load host 2" in report


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_a_replay_has_its_client_on_the_load_host_and_the_published_port(
    bed: Bed, catalog: Path
) -> None:
    server = [find_engine(), "--bind", "{host}", "--null-server", "{port}"]
    path = catalog / "runs.sqlite"
    where = ("--catalog", str(catalog), "--store", str(path))
    hosts = ("--server-host", bed.target, "--server-address", SERVER)
    process = bed.deadheat("run", "--protocol", "page", *where, *hosts, "--", *server)
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 4), err  # 4: no valid trial, as the hosts share CPUs
    with Store(path, read_only=True) as opened:
        (summary,) = run_summaries(opened)
        run = read_run(opened, summary.run_id)
    for trial in run.trials:
        assert trial.command[0] == "wrk"
        assert trial.command[-1] == f"http://{SERVER}:4000/"
        assert (trial.state, trial.reason) == ("ok", None)
    audit, err = bed.deadheat("audit", "page", *where).communicate()
    assert err == ""
    assert f"wrk ran on the load host against http://{SERVER}:4000/, as published" in audit
    assert "The hosts share one machine" in audit
    report = bed.deadheat("report", summary.run_id, "--store", str(path)).communicate()[0]
    assert "the hosts are namespaces or containers of one machine" in " ".join(report.split())


def test_a_taken_port_of_a_replay_is_an_error_before_anything_starts(
    bed: Bed, catalog: Path
) -> None:
    path = catalog / "runs.sqlite"
    where = ("--catalog", str(catalog), "--store", str(path), "--server-host", bed.target)
    code = "import socket, sys; s = socket.create_server((sys.argv[1], 4000)); sys.stdin.read()"
    taker = subprocess.Popen(
        [*bed.within("s"), sys.executable, "-c", code, SERVER], stdin=subprocess.PIPE
    )
    try:
        eventually(lambda: bed.is_reachable(4000))
        process = bed.deadheat("run", "--protocol", "page", *where, "--", "true", "{port}")
        _, err = process.communicate(timeout=60)
    finally:
        taker.communicate()
    assert f"port 4000 of {SERVER} is taken" in err
    with Store(path, read_only=True) as opened:
        assert run_summaries(opened) == []
