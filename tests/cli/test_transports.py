"""Commands over several transports, with a server of a catalog that speaks all of them."""

import json
import shutil
from pathlib import Path

import pytest

from deadheat.store import Store
from tests.cli.conftest import Deadheat
from tests.hosts.greeting import race_protocol
from tests.servers.contenders import CATALOG

MANIFEST = """
name = "nulls"
language = "Rust"
framework = "null server"
kind = "server"
homepage = "https://example.org"

[version]
command = ["deadheat-load", "--version"]

[start]
command = ["deadheat-load", "--bind", "{host}", "--null-server", "{port}"]
worker = "none"
keep_alive = true
connection_close = "closes"
backlog = "system"

[transports.https]
command = [
    "deadheat-load", "--bind", "{host}", "--null-server", "{port}",
    "--cert", "{cert}", "--key", "{key}",
]

[transports.h2]

[transports.h2c]
"""
RACE = race_protocol(
    "race",
    'kind = "fixed", repetitions = 2',
    connections="[2]",
    duration_s="0.1",
    slices="{ rounds = 2, control_every = 2 }",
    warmup='{ kind = "none" }',
)


@pytest.fixture
def deadheat(deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deadheat:
    catalog = tmp_path / "catalog"
    shutil.copytree(CATALOG / "servers" / "hello", catalog / "servers" / "hello")
    shutil.copytree(CATALOG / "recipes", catalog / "recipes", symlinks=True)
    (catalog / "servers" / "nulls").mkdir()
    (catalog / "servers" / "nulls" / "server.toml").write_text(MANIFEST)
    (catalog / "race.toml").write_text(RACE)
    monkeypatch.setenv("DEADHEAT_CATALOG", str(catalog))
    return deadheat


def test_a_server_races_on_each_transport_that_its_manifest_names(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    race = ("--protocol", str(tmp_path / "catalog" / "race.toml"), "--transport", "http,https,h2")
    ended = deadheat("run", "hello", "nulls", *race, "--json")
    assert ended.ran, ended.err
    assert "left out, without hello:https: hello" in ended.err
    report = json.loads(ended.out)
    assert report["run"]["workloads"] == ["hello", "hello:https", "hello:h2"]
    levels = {each["name"]: len(each["levels"]) for each in report["contenders"]}
    assert levels == {"hello": 1, "nulls": 3, "null-server": 3, "reference": 3}
    with Store(home / "runs.sqlite", read_only=True) as store:
        names = [row["name"] for row in store.rows("SELECT name FROM contender ORDER BY id")]
    assert names[:4] == ["hello", "nulls", "nulls:https", "nulls:h2"]
    assert {"null-server", "null-server:https", "reference:h2"} <= set(names)
    shown = deadheat("compare", report["run"]["id"], report["run"]["id"])
    assert shown.code == 0, shown.err


def test_a_connection_per_request_shows_handshakes(deadheat: Deadheat, tmp_path: Path) -> None:
    race = ("--protocol", str(tmp_path / "catalog" / "race.toml"), "--transport", "http,https,h2")
    ended = deadheat("run", "nulls", *race, "--close", "--json")
    assert ended.ran, ended.err
    report = json.loads(ended.out)
    by_workload = {each["workload"]: each for each in report["handshakes"]}
    assert list(by_workload) == ["hello:https", "hello:h2"], "plain HTTP has none"
    (server,) = [each for each in report["contenders"] if each["name"] == "nulls"]
    for level in server["levels"][1:]:
        row = by_workload[level["workload"]]
        # A handshake counts if it began in the window, and an answer if its connect did.
        assert row["handshakes"] == pytest.approx(
            sum(t["requests_ok"] for t in level["trials"]), rel=0.2
        )
        assert row["per_s"] > 0


def test_verify_tries_each_transport(deadheat: Deadheat) -> None:
    """The null server answers every path, which the catalog's rules forbid."""
    ended = deadheat("verify", "nulls", "hello", "--transport", "https,h2c")
    fault = "expected an error for an unknown path, such as 404, got 200"
    for name in ("nulls:https", "nulls:h2c"):
        assert f"FAIL {name}: {fault}" in ended.out, ended.out + ended.err
    assert "left out, without h2c: hello" in ended.err


@pytest.mark.parametrize(
    ("words", "symptom"),
    [
        (("run", "hello", "--transport", "h2"), "--transport h2: none of the chosen servers"),
        (("verify", "hello", "--transport", "h2"), "--transport h2: none of the chosen servers"),
        (("run", "nulls", "--setting", "h2"), "--setting h2: it is a transport"),
        (("run", "nulls", "--transport", "http,tls"), "'http,tls': expected http, https, h2 or"),
        (("run", "nulls", "--streams", "3"), "expected the transport h2 or h2c"),
        (("run", "nulls", "--tls-key", "rsa"), "expected the transport https or h2"),
        (
            ("run", "nulls", "--transport", "h2", "--streams", "3", "--close"),
            "a connection per request has one stream",
        ),
        (
            ("run", "nulls", "--transport", "https", "--protocol", "woo-2016"),
            "a replay has plain HTTP",
        ),
    ],
)
def test_transports_that_cannot_be_are_refused(
    deadheat: Deadheat, words: tuple[str, ...], symptom: str
) -> None:
    ended = deadheat(*words)
    assert ended.code == 2, ended.out
    assert symptom in ended.err


def test_the_gap_of_a_server_over_two_transports_is_split(deadheat: Deadheat) -> None:
    """Regression: explain refused two transports as two levels."""
    once = ("--repetitions", "2", "--invocations", "2", "-c", "2")
    ended = deadheat("explain", "nulls", *once, "--transport", "http,https")
    assert ended.ran, ended.err
    assert ended.out.count("\nGAP ") == 1, ended.out
    document = json.loads(deadheat("report", "--format", "json").out)["explanation"]
    (gap,) = document["gaps"]
    assert {gap["more"], gap["less"]} == {"nulls", "nulls:https"}
    assert {each["name"] for each in document["servers"]} == {"nulls", "nulls:https"}
    markdown = deadheat("report", "--format", "md").out
    assert markdown.count("**GAP**") == 1
