"""A longer path: closed-loop rates follow the round trip, and the gate `network` notices."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deadheat.store import Store, read_run
from tests.hosts.bed import LOAD, SERVER, Bed, run
from tests.hosts.greeting import ONCE, race_protocol, started

LINE = Path(__file__).with_name("delay_line.py")
FACTOR = 1.5  # between a rate and its prediction; a busy machine delays packets further
SHORT_S, LONG_S = 0.01, 0.03  # one way
CONNECTIONS = (1, 4)  # the backlog of the small server is 5
HARNESS = """
import json, sys
from deadheat.load import LoadSpec
from deadheat.measure.hosts import Hosts, load_null_server, measure_link, two_hosts
with two_hosts(Hosts(server=sys.argv[1]), "engine", 1) as world:
    for _ in range(2):
        loads = {c: load_null_server(world, "", LoadSpec("", c, 1.0)) for c in (1, 4)}
        rates = {c: result.rate_per_s for c, result in loads.items()}
        print(json.dumps([measure_link(world).round_trip_us, rates]), flush=True)
        sys.stdin.readline()
"""
pytestmark = pytest.mark.skipif(
    not os.access("/dev/net/tun", os.W_OK), reason="a delay line needs /dev/net/tun"
)


@contextmanager
def delayed(bed: Bed, one_way_s: float) -> Iterator[Callable[[float], None]]:
    """Delay packets of both directions until the context ends; each round trip takes twice as long.

    Yields what changes the delay. Routes to the two addresses lead through the line; they end with
    its interfaces. Connections that are open stay open.
    """
    namespaces = [f"{bed.name}-{side}" for side in "sl"]
    with subprocess.Popen(
        [sys.executable, str(LINE), *namespaces],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as line:
        words = line.stdin
        assert words is not None
        assert line.stdout is not None

        def delay(one_way_s: float) -> None:
            words.write(f"{one_way_s}\n")
            words.flush()

        try:
            assert line.stdout.readline() == "ready\n"
            ways = ((SERVER, LOAD), (LOAD, SERVER))
            for namespace, (own, other) in zip(namespaces, ways, strict=True):
                run("ip", "-n", namespace, "link", "set", "delay", "up")
                route = (f"{other}/32", "dev", "delay", "src", own)
                run("ip", "-n", namespace, "route", "add", *route)
            delay(one_way_s)
            yield delay
        finally:
            words.close()
            line.wait(10)


def is_near(rate_per_s: float, predicted_per_s: float) -> bool:
    return predicted_per_s / FACTOR < rate_per_s < predicted_per_s * FACTOR


def test_rates_fall_as_the_round_trip_grows(bed: Bed) -> None:
    """At fixed connections c, a closed loop gets c / RTT: three times the RTT, a third of it.

    One connection gets 16 answers in a second over the long trip.
    """
    with (
        delayed(bed, SHORT_S) as delay,
        subprocess.Popen(
            bed.on_load_host(sys.executable, "-c", HARNESS, bed.target),
            env=bed.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as harness,
    ):
        assert harness.stdin is not None
        assert harness.stdout is not None
        try:
            short_us, short_rates = json.loads(harness.stdout.readline())
            delay(LONG_S)
            harness.stdin.write("\n")
            harness.stdin.flush()
            long_us, long_rates = json.loads(harness.stdout.readline())
        finally:
            harness.stdin.close()
    assert long_us > FACTOR * short_us, "a busy machine delays packets of both trips"
    for connections in map(str, CONNECTIONS):
        assert is_near(short_rates[connections] / long_rates[connections], long_us / short_us)
        assert is_near(long_rates[connections], int(connections) * 1e6 / long_us)


@pytest.mark.alone  # beside other tests, the server and not the link limits a rate
def test_the_gate_names_the_round_trip(bed: Bed, catalog: Path) -> None:
    levels = race_protocol("levels", ONCE, connections="[1, 4]", duration_s="0.4")
    (catalog / "protocols" / "levels.toml").write_text(levels)
    with delayed(bed, SHORT_S):
        out, err = started(bed, catalog, "greeting", "--protocol", "levels", "--json").communicate(
            timeout=120
        )
    assert out, err
    document = json.loads(out)
    (server,) = (host for host in document["hosts"] if host["role"] == "server")
    trip_s = server["fingerprint"]["link"]["network"]["round_trip_us"] / 1e6
    assert trip_s >= 2 * SHORT_S
    with Store(catalog / "runs.sqlite", read_only=True) as store:
        run = read_run(store, document["run"]["id"])
        gates_failed = run.gates_failed
    servers = {each.id for each in run.contenders if each.role == "contender"}
    own = [trial for trial in run.trials if trial.contender_id in servers]
    assert {trial.connections for trial in own} == {*CONNECTIONS}
    for trial in own:
        assert is_near(trial.rate_per_s or 0.0, trial.connections / trip_s)
        (gate,) = (gate for gate in gates_failed[trial.id] if gate.code == "network")
        assert "round trip limited it: use more connections" in gate.advice
    controls = [trial for trial in run.trials if trial.contender_id not in servers]
    assert controls
    codes = {gate.code for trial in controls for gate in gates_failed.get(trial.id, ())}
    assert "network" not in codes, "the controls are there to find such limits"
