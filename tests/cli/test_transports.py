"""Commands over several transports, with a server of a catalog that speaks all of them."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from deadheat.campaign import explain, failures
from deadheat.campaign.run import RunContext
from deadheat.cli import verify
from deadheat.measure.inspection import Inspection
from deadheat.protocol import SearchProtocol
from tests.cli.conftest import Deadheat, rows
from tests.cli.test_regress import tagged
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
    names = [row["name"] for row in rows(home, "SELECT name FROM contender ORDER BY id")]
    assert names[:4] == ["hello", "nulls", "nulls:https", "nulls:h2"]
    assert {"null-server", "null-server:https", "reference:h2"} <= set(names)
    used = [line for line in report["heading"] if "TLS 1.3, TLS_AES_128_GCM_SHA256, " in line]
    assert [line.partition(": ")[0] for line in used] == ["hello:https", "hello:h2"]
    shown = deadheat("compare", report["run"]["id"], report["run"]["id"])
    assert shown.code == 0, shown.err


def test_plan_has_each_server_on_each_transport(deadheat: Deadheat) -> None:
    ended = deadheat(
        *("plan", "hello", "nulls", "--transport", "http,h2", "--streams", "3", "--json")
    )
    assert ended.code == 0, ended.err
    plan = json.loads(ended.out)
    assert plan["contenders"] == ["hello", "nulls", "nulls:h2"]
    assert (plan["protocol"]["transports"], plan["protocol"]["streams"]) == (["http", "h2"], 3)


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
            sum(t["requests_ok"] for t in level["trials"]), rel=0.5
        )
        assert row["per_s"] > 0


def test_handshakes_are_a_level_beside_kept_connections(deadheat: Deadheat, tmp_path: Path) -> None:
    race = ("--protocol", str(tmp_path / "catalog" / "race.toml"), "--transport", "http,https,h2")
    ended = deadheat("run", "nulls", "hello", *race, "--workload", "hello,connect", "--json")
    assert ended.ran, ended.err
    assert "left out, without connect:https: hello" in ended.err
    report = json.loads(ended.out)
    levels = {
        each["name"]: {level["workload"] for level in each["levels"] if level["rate_per_s"]}
        for each in report["contenders"]
    }
    assert levels["hello"] == {"hello", "connect"}
    assert levels["nulls"] == {
        f"{name}{over}" for name in ("hello", "connect") for over in ("", ":https", ":h2")
    }
    assert [row["workload"] for row in report["handshakes"]] == ["connect:https", "connect:h2"]
    assert "keep-alive, but a connection per request on connect" in " ".join(report["heading"])


def test_verify_tries_each_transport(deadheat: Deadheat) -> None:
    """The null server answers every path, which the catalog's rules forbid."""
    ended = deadheat("verify", "nulls", "hello", "--transport", "https,h2c")
    fault = "expected an error for an unknown path, such as 404, got 200"
    for name in ("nulls:https", "nulls:h2c"):
        assert f"FAIL {name}: {fault}" in ended.out, ended.out + ended.err
    assert "left out, without h2c: hello" in ended.err


def test_bug_verify_all_tried_transports_that_were_not_asked_for(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[list[str], tuple[int, ...]]] = []

    def inspected(*values: Any) -> Iterator[Inspection]:
        _, _, selections, _, levels, *_ = values
        seen.append(([each.name for each in selections], levels))
        return iter(())

    monkeypatch.setattr(verify, "inspect_all", inspected)
    for words in ((), ("--transport", "https,h2c"), ("--transport", "http,h2")):
        assert deadheat("verify", "--all", *words).code == 0
    tried = (
        ["hello", "nulls", "nulls:https", "nulls:h2", "nulls:h2c"],
        ["nulls:https", "nulls:h2c"],
        ["hello", "nulls", "nulls:h2"],
    )
    assert seen == [(names, verify.ALL_LEVELS) for names in tried], "each under load"


def test_the_gap_of_a_server_over_two_transports_is_split(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: explain refused two transports as two levels."""
    for name in ("WATCHED_S", "TRACED_S", "SAMPLED_S"):
        monkeypatch.setattr(explain, name, 0.3)
    protocols = tmp_path / "catalog" / "protocols"
    protocols.mkdir()
    (protocols / "explain.toml").write_text(RACE.replace('"race"', '"explain"'))
    ended = deadheat("explain", "nulls", "--invocations", "2", "--transport", "http,https")
    assert ended.ran, ended.err
    assert ended.out.count("\nGAP ") == 1, ended.out
    document = json.loads(deadheat("report", "--format", "json").out)["explanation"]
    (gap,) = document["gaps"]
    assert {gap["more"], gap["less"]} == {"nulls", "nulls:https"}
    assert {each["name"] for each in document["servers"]} == {"nulls", "nulls:https"}
    markdown = deadheat("report", "--format", "md").out
    assert markdown.count("**GAP**") == 1


@pytest.mark.parametrize("transport", ["https", "h2"])
def test_a_slower_revision_does_not_pass_over_a_transport(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    """INCONCLUSIVE is possible, because gates may fail on a busy machine."""
    monkeypatch.setattr(failures, "TRIALS_MAX", sys.maxsize)  # or the race may end early
    null_server = 'exec deadheat-load --bind 127.0.0.1 --null-server "$1" --cert "$2" --key "$3"'
    works = {"good": 0, "slower": 500_000}
    texts = {tag: f"{null_server} --null-work {work}\n" for tag, work in works.items()}
    monkeypatch.chdir(tagged(tmp_path / "repository", "serve.sh", **texts))
    comment, junit = tmp_path / "comment.md", tmp_path / "junit.xml"
    race = ("--protocol", str(tmp_path / "catalog" / "race.toml"), "--transport", transport)
    starts = ("--invocations", "3", "--repetitions", "9")
    files = ("--comment", str(comment), "--junit", str(junit))
    start = ("--", "sh", "serve.sh", "{port}", "{cert}", "{key}")
    ended = deadheat("regress", "--base", "good", *race, *starts, *files, "--json", *start)
    document = json.loads(ended.out)
    (level,) = document["levels"]
    assert level["workload"] == f"hello:{transport}"
    assert document["outcome"] in ("FAIL", "INCONCLUSIVE"), ended.err
    if document["outcome"] == "FAIL":
        assert level["ratio"] < 0.5
        assert level["head_cpu_us_per_request"] > level["base_cpu_us_per_request"]
    assert f"| hello:{transport}, 2 |" in comment.read_text()
    (case,) = ElementTree.parse(junit).iter("testcase")
    assert case.get("name") == f"rate at hello:{transport}, 2 connections"
    names = [row["name"] for row in rows(tmp_path / "home", "SELECT name FROM contender")]
    assert all(name.endswith(f":{transport}") for name in names), names


@pytest.mark.parametrize(
    ("transport", "formats"), [("https", ("terminal", "md", "csv")), ("h2", ("json", "html"))]
)
def test_the_capacity_of_a_server_over_a_transport(
    deadheat: Deadheat,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    transport: str,
    formats: tuple[str, ...],
) -> None:
    monkeypatch.setattr("deadheat.campaign.capacity.TRIALS_MAX", 4)
    search = ("-c", "2", "-d", "100ms", "--slo", "p50=1s", "--transport", transport)
    more = ("--streams", "3", "--tls-key", "rsa") if transport == "h2" else ()
    ended = deadheat("capacity", "nulls", *search, *more, "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    (found,) = document["capacities"]
    assert found["name"] == f"nulls:{transport}"
    assert found["trials"] > 0, found
    (row,) = rows(home, "SELECT max(requests_ok) AS most FROM trial")
    assert row["most"] > 0
    for format_ in formats:
        shown = deadheat("report", document["run"], "--format", format_)
        assert (shown.code, "nulls" in shown.out) == (0, True), shown.err


def test_bug_a_search_for_capacity_ignored_the_kind_of_key(
    deadheat: Deadheat, searches: list[RunContext[SearchProtocol]]
) -> None:
    ended = deadheat("capacity", "nulls", "--transport", "https", "--tls-key", "rsa")
    assert ended.code == 0, ended.err
    assert [each.world.certificates and each.world.certificates.key for each in searches] == ["rsa"]
