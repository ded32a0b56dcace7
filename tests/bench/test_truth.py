"""The truth of `bench.truth` over transports: what it compares, and the server behind it."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.truth import PACED, cases, catalog_of, outcomes
from deadheat.catalog import load_server
from deadheat.catalog.manifest import OVER_TLS
from deadheat.load import Engine
from deadheat.measure.certificates import certificates

RATES = {made.name: made.rate_per_s or 0.0 for made in cases()["transports"]}
SERVICE_US = 400


def ratio(value: float) -> dict[str, float]:
    return {"ratio": value, "low": value * 0.99, "high": value * 1.02}


def test_known_rates_are_compared_over_each_transport_and_between_them() -> None:
    plain = {"faster": "even", "slower": "slower", "verdict": "separated", "ratio": ratio(1.04)}
    secured = {"faster": "mixed", "slower": "even", "verdict": "separated", "ratio": ratio(0.97)}
    costs = {"rate_ratio": 0.95, "rate_ratio_low": 0.9, "rate_ratio_high": 1.0}
    document = {
        "levels": [
            {"workload": "hello", "pairs": [plain]},
            {"workload": "hello:https", "pairs": [secured]},
        ],
        "profile": {"transports": [{"name": "mixed", "workload": "hello:https", **costs}]},
    }
    pairs = list(outcomes("transports", 1, document, RATES))
    assert [pair.case for pair in pairs] == [
        *["transports: http"] * 3,
        *["transports: https"] * 3,
        *["transports: h2"] * 3,
        "transports: http beside https",
    ]
    known = {(pair.a, pair.b): pair for pair in pairs if pair.ratio is not None}
    assert list(known) == [
        ("even", "slower"),
        ("even:https", "mixed:https"),
        ("http", "mixed"),
    ]
    same, other, cost = known.values()
    true_ratios = [pair.true_ratio for pair in known.values()]
    assert true_ratios == pytest.approx([1.05, 1.05, 1.05])
    assert (same.ratio, same.inside) == (1.04, True)
    assert (other.ratio, other.low) == (1 / 0.97, 1 / (0.97 * 1.02)), "it was the slower one"
    assert (cost.ratio, cost.low, cost.high, cost.inside) == (1 / 0.95, 1.0, 1 / 0.9, True)


def test_its_servers_are_a_catalog_with_a_command_for_each_transport(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, cases()["transports"], tmp_path / "unused")
    server = load_server(catalog / "servers" / "slower", catalog / "recipes")
    over_tls = [server.manifest.transports[name].command or () for name in ("https", "h2")]
    assert server.manifest.start.command[-1] == "315.000"
    assert [command[-3] for command in over_tls] == ["378.000", "315.000"]
    assert [command[-2:] for command in over_tls] == [("{cert}", "{key}")] * 2


@contextmanager
def paced(*files: str) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(PACED), "127.0.0.1", str(port), str(SERVICE_US), *files]
    with subprocess.Popen(command) as process:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    assert process.poll() is None
            yield port
        finally:
            process.kill()


@pytest.mark.parametrize("transport", ["http", "https", "h2"])
def test_the_paced_server_answers_right_and_no_faster_than_its_pace(transport: str) -> None:
    with certificates() as made:
        files = made.values() if transport in OVER_TLS else {}
        with paced(*(files[each] for each in ("cert", "key") if files)) as port:
            url = f"{'https' if files else 'http'}://127.0.0.1:{port}/"
            options = ["-c", "8", "-d", "500ms", "--json", "--expect-body", "Hello, World!"]
            options += ["--cacert", str(made.ca)] if files else []
            options += ["--http2", "--streams", "3"] if transport == "h2" else []
            engine = Engine().version_command()[0]
            # It exits with 4 where the machine is busy, and prints its document all the same.
            done = subprocess.run([engine, url, *options], capture_output=True, check=False)
    document = json.loads(done.stdout)
    answered = {name: count for name, count in document["classes"].items() if count}
    assert list(answered) == ["ok"]
    assert document["rate_per_s"] < 1.02 * 1e6 / SERVICE_US
