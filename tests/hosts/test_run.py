"""`deadheat run` with the servers on another host. Both share these CPUs, so gates may fail."""

import json
from pathlib import Path

from deadheat.store import Store, read_run
from deadheat.store.listing import run_summaries
from tests.host.support import eventually
from tests.hosts.bed import LOAD_MTU_BYTES, SERVER, Bed
from tests.hosts.greeting import MANIFEST, started


def test_a_server_is_built_and_runs_on_the_other_host(bed: Bed, catalog: Path) -> None:
    builds = bed.folder / "far-home/.cache/deadheat/builds/greeting"
    earlier = set(builds.glob("*/built.py"))  # of other tests on this bed
    out, err = started(bed, catalog, "greeting", "--protocol", "short", "--json").communicate(
        timeout=120
    )
    assert out, err
    document = json.loads(out)
    server, load = document["hosts"]
    assert server["fingerprint"]["link"]["agent_round_trip_us"] > 0
    assert server["fingerprint"]["link"]["network"]["bytes_per_s"] > 1e6
    assert "link" not in load["fingerprint"]
    for host, mtu_bytes in ((server, 1500), (load, LOAD_MTU_BYTES)):
        interface = host["fingerprint"]["interface"]
        assert (interface["driver"], interface["mtu_bytes"]) == ("veth", mtu_bytes)
        assert interface["offloads"].keys() >= {"tso", "gso", "gro"}
        assert interface["interrupt_cpus"] == [], "veth has none"
    losses = document["link_losses"]
    assert losses["server"].keys() == losses["load"].keys()
    assert None not in {*losses["server"].values(), *losses["load"].values()}
    assert server["cpus"] == server["fingerprint"]["cpu"]["allowed"]
    assert "built greeting" in err
    (built,) = set(builds.glob("*/built.py")) - earlier
    with Store(catalog / "runs.sqlite", read_only=True) as opened:
        (summary,) = run_summaries(opened)
        run = read_run(opened, summary.run_id)
    names = {trial.contender_id for trial in run.trials}
    assert len(names) == 3  # the server and the controls
    assert all(f"http://{SERVER}:" in " ".join(trial.command) for trial in run.trials)
    eventually(lambda: bed.left() == [], within_s=30)
    assert built.exists()
    report = bed.deadheat("report", summary.run_id, "-v", "--store", str(catalog / "runs.sqlite"))
    details, _ = report.communicate()
    assert "two hosts: a request to the agent takes server host" in details
    assert "server host's interface: veth, MTU 1,500 bytes, offloads" in " ".join(details.split())


def test_verify_counts_connections_over_the_link(bed: Bed, catalog: Path) -> None:
    where = ("--catalog", str(catalog), "--server-host", bed.target)
    process = bed.deadheat("verify", "greeting", *where, "--load", "3", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    (row,) = json.loads(out)
    assert (row["fault"], row["served"]["3"]) == (None, 3)
    eventually(lambda: bed.left() == [], within_s=30)


def test_a_tool_that_the_other_host_lacks_is_named_with_the_host(bed: Bed, catalog: Path) -> None:
    manifest = catalog / "servers" / "greeting" / "server.toml"
    manifest.write_text(
        MANIFEST.replace('["python3", "--version"]\ninstall', '["no-tool"]\ninstall')
    )
    process = started(bed, catalog, "greeting", "--protocol", "short")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"python3 is not installed on {bed.target}" in err
    assert f"install it on {bed.target}: apt-get install python3" in err
