"""`verify`, `build`, `plan`, `protocols`, `calibrate` and `explain`, on real servers."""

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from deadheat.campaign import explain
from deadheat.campaign.calibrate import Calibration
from deadheat.campaign.run import RunContext
from deadheat.catalog import Server, load_catalog
from deadheat.catalog.manifest import Need
from deadheat.catalog.toolchain import install_missing
from deadheat.cli import calibrate, capacity, choice
from deadheat.cli.endings import ExitCode
from deadheat.errors import Unmeasurable
from deadheat.host import Completed
from deadheat.host.fake import FakeHost
from deadheat.host.local import LocalHost
from deadheat.load.engine import find_engine
from deadheat.measure import inspection
from deadheat.measure.world import World
from deadheat.protocol import SearchProtocol, Settle, SliceProtocol
from deadheat.store import Capacity, Store
from tests.cli.conftest import HERE, Deadheat, rows
from tests.servers.contenders import CATALOG, running


def test_verify_prints_one_line_per_server(deadheat: Deadheat) -> None:
    ended = deadheat("verify", "hello", "exits-at-start")
    assert ended.code == 1
    good, bad, words, last = ended.out.splitlines()
    assert good.startswith("ok   hello 3.")
    for trait in ("keep-alive", "close honored", "2 of 2 pipelined", "unknown path 404"):
        assert trait in good
    assert bad == "FAIL exits-at-start: exits-at-start ended before it was ready (exit 1)"
    assert words == "  | cannot read hello.conf"
    assert last == "1 ok, 1 FAIL"


def test_verify_writes_a_page_and_a_folder_with_the_details(
    deadheat: Deadheat, tmp_path: Path
) -> None:
    page = tmp_path / "out" / "results.md"
    assert deadheat("verify", "hello", "--page", str(page)).code == 0
    assert "[hello](results/python.md#hello)" in page.read_text()
    assert "## hello" in (page.parent / "results" / "python.md").read_text()


def test_verify_continues_from_its_output_file(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "SERVE_S", 0.2)
    kept = tmp_path / "kept.json"
    first = deadheat("verify", "hello", "--load", "3,9", "-o", str(kept))
    assert first.code == 0
    assert "served 3, 9" in first.out
    before = json.loads(kept.read_text())
    again = deadheat("verify", "hello", "exits-at-start", "--load", "3", "-o", str(kept))
    assert again.code == 1
    assert again.out.splitlines()[0] == first.out.splitlines()[0]
    rows = json.loads(kept.read_text())
    assert [row["state"] for row in rows] == ["fails", "works"]
    assert rows[1:] == before
    rows[1]["source_key"] = "of another command"
    kept.write_text(json.dumps(rows))
    deadheat("verify", "hello", "--load", "3", "-o", str(kept))
    assert json.loads(kept.read_text())[1]["source_key"] == before[0]["source_key"]


def test_verify_does_not_overwrite_another_file(deadheat: Deadheat, tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    notes.write_text('["my notes"]')
    ended = deadheat("verify", "hello", "-o", str(notes))
    assert ended.code == 2
    assert "not a file of `deadheat verify -o`" in ended.err
    assert notes.read_text() == '["my notes"]'


def test_build_prints_version_and_folder(deadheat: Deadheat, home: Path) -> None:
    first, again = deadheat("build", "hello"), deadheat("build", "hello")
    assert first.code == again.code == 0
    assert "built hello in" in first.err
    assert "built hello in" not in again.err
    (folder,) = [path for path in (home / "builds" / "hello").iterdir() if path.is_dir()]
    assert first.out.splitlines()[0].split()[0::2] == ["hello", str(folder)]
    assert first.out.splitlines()[1] == "1 built, 0 failed"


def test_plan_starts_nothing(deadheat: Deadheat, home: Path) -> None:
    ended = deadheat("plan", "hello", "wrong-*", "--protocol", "brief", "--connections", "1,2")
    assert ended.code == 0
    assert "contenders    hello, wrong-body, wrong-media-type" in ended.out
    assert "connections   1, 2" in ended.out
    assert not home.exists()


def test_a_server_is_chosen_in_several_settings(deadheat: Deadheat) -> None:
    """`go-gin:multicore`, as reports name it, was an unknown server."""
    names = ("dies-mid-trial", "dies-mid-*:at-once", "dies-mid-trial:default")
    ended = deadheat("plan", *names, "--protocol", "brief")
    assert "contenders    dies-mid-trial, dies-mid-trial:at-once\n" in ended.out


def test_plan_applies_the_flags_to_the_protocol(deadheat: Deadheat) -> None:
    ended = deadheat(
        *("plan", "hello", "--protocol", "brief", "--repetitions", "7", "--duration", "500ms"),
        *("--close", "--load-threads", "2", "--margin", "5%", "--json"),
    )
    protocol = json.loads(ended.out)["protocol"]
    assert protocol["stopping"]["repetitions"] == 7
    assert protocol["stopping"]["margin"] == 0.05
    assert (protocol["duration_s"], protocol["threads"]) == (0.5, 2)
    assert protocol["keep_alive"] is False


def test_plan_lets_idle_cpus_sleep(deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEADHEAT_CATALOG")
    awake = [
        json.loads(deadheat("plan", "go-gin", *options, "--json").out)["protocol"]["awake"]
        for options in ((), ("--asleep",), ("--protocol", "woo-2016"))
    ]
    assert awake == [True, False, False]


def test_bug_plan_counted_servers_that_a_run_does_not_take(
    deadheat: Deadheat, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(servers: Sequence[Server]) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=each.name, ready=each.name in ready) for each in servers]

    ready = {"hello", "outlives-sigterm"}
    monkeypatch.setattr(choice, "rows_of", listed)
    planned = deadheat("plan", "--protocol", "brief", "--json")
    assert json.loads(planned.out)["contenders"] == sorted(ready)
    assert "left out, not ready here: bad-gateway, " in planned.err
    assert deadheat("run", "--protocol", "brief").ran
    assert {row["name"] for row in rows(home, "SELECT name FROM contender")} == ready
    ready.clear()
    assert "error: no server is ready here" in deadheat("plan", "--protocol", "brief").err


def test_bug_a_plan_broke_words_at_the_edge_of_a_terminal(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    lines = click.unstyle(deadheat("plan", "hello", "outlives-sigterm").out).splitlines()
    assert max(map(len, lines)) <= 40
    assert "              short slices close" in lines


def test_plan_and_run_name_the_same_smallest_budget(deadheat: Deadheat) -> None:
    words = ("hello", "outlives-sigterm", "--budget", "1s")
    planned, ran = deadheat("plan", *words), deadheat("run", *words)
    (warning,) = (line for line in planned.out.splitlines() if line.startswith("WARNING "))
    assert warning.removeprefix("WARNING").strip() in ran.err


def test_repetitions_replace_the_stopping_rule_of_settle(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEADHEAT_CATALOG")
    ended = deadheat("plan", "go-gin", "--protocol", "settle", "--repetitions", "3")
    assert "after 3 repetitions" in ended.out


def test_protocols_are_listed_as_json(deadheat: Deadheat) -> None:
    protocols = json.loads(deadheat("protocols", "--json").out)
    assert [2] in [protocol["connections"] for protocol in protocols]


@pytest.fixture
def servers() -> list[Server]:
    return list(load_catalog(CATALOG).servers.values())


def test_install_runs_each_command_once(
    servers: list[Server], capsys: pytest.CaptureFixture[str]
) -> None:
    host = FakeHost()
    host.on_run(lambda command: command[0] == "sh", lambda *_: Completed(0, "", "", 1, 1))
    install_missing(host, servers)
    ran = [spec.command for name, spec in host.calls if spec.command[0] == "sh"]
    commands = ["apt-get update", "apt-get install -y python3"]
    assert ran == [["sh", "-c", command] for command in commands]
    printed = capsys.readouterr().err
    assert printed == "".join(f"installing: {command}\n" for command in commands)


def test_install_skips_needs_that_are_met(servers: list[Server]) -> None:
    host = FakeHost()
    host.on_run(lambda _: True, lambda *_: Completed(0, "Python 3.13.1", "", 1, 1))
    install_missing(host, servers)
    assert {spec.command for _, spec in host.calls} == {("python3", "--version")}


def test_a_failed_install_keeps_no_other_from_running(
    servers: list[Server], capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: `build --install` stopped at the first tool that could not be installed."""
    other = Need(tool="hex", probe=("hex", "--version"), install="mix local.hex --force")
    host = FakeHost()
    host.on_run(
        lambda command: command[0] == "sh",
        lambda *_: Completed(100, "Reading\n", "E: no such package\n", 1, 1),
    )
    install_missing(host, [*servers, replace(servers[0], needs=(other,))])
    ran = [spec.command[-1] for name, spec in host.calls if spec.command[0] == "sh"]
    assert ran == ["apt-get update", "apt-get install -y python3", "mix local.hex --force"]
    assert (
        "`apt-get update` failed\n"
        "not installed: `apt-get install -y python3` ended with exit code 100\n"
        "  Reading\n  E: no such package\n"
        "not installed: `mix local.hex --force` ended with exit code 100\n"
    ) in capsys.readouterr().err


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The start command of a server of the user's own: /items is for those with a key."""
    path = tmp_path_factory.mktemp("shop") / "shop.py"
    path.write_text(SHOP)
    return (sys.executable, "-I", "-S", str(path), "{port}")


SHOP = """
import http.server, itertools, sys

class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = itertools.count(1000)

    def do_GET(self):
        wrong = self.path == "/items" and self.headers["X-Key"] != "k"
        body = b"%d" % next(self.count) if self.path == "/varies" else b"shop"
        self.send_response(401 if wrong else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 0, "ok   "),
        (("--load", "3"), 0, "served 3"),
        (("--path", "/items"), 1, "got 401 (send the header that it expects, such as -H"),
        (("--path", "/items", "--expect-status", "401"), 0, "workloads request"),
        (("--path", "/items", "-H", "X-Key: k", "--load", "3"), 0, "workloads request, served 3"),
        (("--path", "/varies"), 1, "its answers differ from one another"),
        (("--path", "/varies", "--any-body", "--load", "3"), 0, "served 3"),
        (("hello", "--name", "shop"), 0, "ok   shop: "),
    ],
)
def test_bug_verify_took_no_server_of_the_users_own(
    deadheat: Deadheat, shop: tuple[str, ...], words: tuple[str, ...], code: int, said: str
) -> None:
    ended = deadheat("verify", *words, "--", *shop)
    assert (ended.code, said in ended.out) == (code, True), (ended.out, ended.err)


def test_own_servers_take_part_in_every_race(
    deadheat: Deadheat,
    home: Path,
    shop: tuple[str, ...],
    tmp_path: Path,
    searches: list[RunContext[SearchProtocol]],
) -> None:
    brief, command = ("--protocol", "brief"), shlex.join(shop)
    two = ("--command", command, "--command", command, "--name", "old", "--name", "new")
    items = ("--path", "/items", "-H", "X-Key: k")
    planned = deadheat("plan", *brief, *two, *items, "--json")
    assert json.loads(planned.out)["contenders"] == ["old", "new"]
    (tmp_path / "body").write_text("a body")
    put = ("--method", "PUT", "--body", str(tmp_path / "body"), "--expect-status", "201")
    for words in ((*two, *items), (*put, "--name", "put", "--", *shop)):
        ended = deadheat("run", *brief, *words)
        assert ended.ran, ended.err
    assert deadheat("capacity", *items, "--name", "most", "--", *shop).code == 0
    (context,) = searches
    assert "most" in [each.contender.name for each in context.entered_contenders]
    trials = "SELECT DISTINCT c.name, trial.state FROM trial JOIN contender c"
    raced = rows(home, f"{trials} ON c.id = contender_id ORDER BY c.name")
    assert [tuple(row.values()) for row in raced] == [(n, "ok") for n in ("new", "old", "put")]


def test_bug_an_interrupt_lost_the_capacities_that_were_found(
    deadheat: Deadheat, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_hello = Capacity(name="hello", rate_per_s=10, above_per_s=12, trials=2, trouble=None)

    def find_capacities(*_: object) -> Iterator[Capacity]:
        yield of_hello
        raise KeyboardInterrupt

    monkeypatch.setattr(capacity, "find_capacities", find_capacities)
    ended = deadheat("capacity", "hello")
    assert ended.code == ExitCode.INTERRUPTED
    assert "interrupted: `deadheat report " in ended.err
    (run,) = rows(home, "SELECT id, state, conclusion FROM run")
    assert run["state"] == "interrupted"
    assert json.loads(run["conclusion"])["capacities"] == [of_hello.model_dump()]
    assert "hello: 10 requests/s held p99=10ms" in deadheat("report", run["id"], "-v").out


def test_verify_takes_the_url_of_a_running_server(deadheat: Deadheat, tmp_path: Path) -> None:
    with LocalHost() as host, running(host, "hello", tmp_path / "log") as url:
        good, wrong = deadheat("verify", "--url", url), deadheat("verify", "--url", f"{url}none")
    assert (good.code, good.out.startswith("ok   127.0.0.1:")) == (0, True), good.out
    assert (wrong.code, "expected status 200, got 404" in wrong.out) == (1, True), wrong.out


@pytest.mark.parametrize(("words", "budget_s"), [((), 60), (("--budget", "2m"), 120)])
def test_each_race_has_the_budget(
    words: tuple[str, ...], budget_s: float, deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols: list[SliceProtocol] = []

    def seen(_: World, __: Store, protocol: SliceProtocol, *___: object) -> Calibration:
        protocols.append(protocol)
        raise Unmeasurable("seen")

    monkeypatch.setenv("DEADHEAT_CATALOG", str(HERE))
    monkeypatch.setattr(calibrate, "calibrate", seen)
    assert "seen" in deadheat("calibrate", *words).err
    (protocol,) = protocols
    assert isinstance(protocol.stopping, Settle)
    assert protocol.stopping.budget_s == budget_s


ONCE = ("--repetitions", "1", "--invocations", "1")


def test_an_own_server_is_explained_and_every_format_shows_it(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever tools are missing here, its CPU time, threads and packets are known."""
    monkeypatch.delenv("DEADHEAT_CATALOG")
    monkeypatch.setattr(explain, "WATCHED_S", 0.3)
    monkeypatch.setattr(explain, "TRACED_S", 0.3)
    monkeypatch.setattr(explain, "SAMPLED_S", 0.3)
    own = [find_engine(), "--bind", "127.0.0.1", "--null-server", "{port}"]
    store = ("--store", str(tmp_path / "runs.sqlite"))
    ended = deadheat("explain", *ONCE, *store, "--", *own)
    assert ended.ran, ended.err
    assert "What a request takes" in ended.out
    document = json.loads(deadheat("report", *store, "--format", "json").out)
    (server,) = document["explanation"]["servers"]
    assert server["per_request"]["user_us"] + server["per_request"]["system_us"] > 0
    assert server["per_request"]["packets_in"] >= 1
    assert server["counted"]["threads"]
    if server["counted"]["calls"] is None:
        assert "strace" in " ".join(server["counted"]["left_out"])
    else:
        assert 0.9 <= server["calls"]["writes"] <= 1.1
