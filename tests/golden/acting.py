"""Outputs of commands that measure, in a world without processes; and that read a machine."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

from starlette.testclient import TestClient

from deadheat.host.fake import FakeServer
from deadheat.host.machine import Machine, Tool
from deadheat.serve.app import make_app
from tests.browser.programs import WEB, chromium_and_node
from tests.campaign.fake_world import FakeWorld, greet
from tests.golden.command_line import CommandLine, Output, session
from tests.golden.page import words_of
from tests.golden.scrub import ROOT
from tests.golden.stored import SETTLE
from tests.host.test_doctor import machine
from tests.report.made import FINGERPRINT, made_run
from tests.servers.racers import CATALOG

TIMEOUT_S = 120.0  # no page takes so long; a browser that hangs ends
WRITTEN = ["--comment", "comment.md", "--junit", "junit.xml"]
RATES = {"alpha": 9000.0, "beta": 8990.0, "gamma": 3000.0}


def _measured(arguments: list[str], line: CommandLine) -> str:
    """The command on servers of known rates; delta gives a wrong answer."""
    catalog = line.folder / "catalog"
    catalog.mkdir()
    fake = FakeWorld(catalog, **RATES, delta=1000.0)
    fake.rates |= {"null-server": 1e6, "reference": 1500.0}
    fake.servers |= {name: FakeServer(answer=greet) for name in ("null-server", "reference")}
    fake.servers["delta"] = FakeServer(answer=lambda _: b"HTTP/1.1 500 Oops\r\n\r\n", log="broken")
    shutil.copytree(ROOT / "protocols", catalog / "protocols")
    name = arguments[0]
    store = () if name == "verify" else ("--store", "runs.sqlite")
    with (
        mock.patch(f"deadheat.cli.{name}.local_world", return_value=nullcontext(fake.world)),
        mock.patch.object(fake.host, "fingerprint", return_value=FINGERPRINT),
    ):
        return session([*arguments, "--catalog", "catalog", *store], line, observed=True)


def _regress(head_per_s: float, blocks: int, options: list[str], line: CommandLine) -> str:
    """Two revisions of a repository, whose race is a made run; what is printed and the files."""
    commits = _repository(line.folder)
    store = line.folder / "runs.sqlite"

    def conduct(*_: object) -> str:
        run = made_run(store, protocol=SETTLE, command=("deadheat", "regress", "--base", "HEAD~"))
        base, head = (f"{role}-{commit[:10]}" for role, commit in commits.items())
        run.race({base: 9000.0, head: head_per_s}, blocks=blocks, levels=(100, 1000), noise=0.005)
        return run.end()

    words = ["regress", "--base", "HEAD~", "--store", "runs.sqlite", *options]
    with mock.patch("deadheat.cli.regress.conduct", conduct):
        text = session([*words, "--", "./server", "{port}"], line, shipped=True, observed=True)
    files = [line.folder / option for option in options if "." in option]
    return text + "".join(
        f"--- {file.name}\n{line.scrubbed(file.read_text('utf-8'), observed=True)}"
        for file in files
    )


def _repository(folder: Path) -> dict[str, str]:
    """Two commits, the same on any day; their names by role."""
    day = "2026-01-01T12:00:00+00:00"
    environment = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "made"), ("EMAIL", "made@localhost"), ("DATE", day))},
    }  # fmt: skip

    def git(*arguments: str) -> str:
        command = ("git", "-C", str(folder), *arguments)
        done = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    commits = {}
    for role in ("base", "head"):
        (folder / "server").write_text(role)
        git("add", "server")
        git("commit", "-q", "-m", role)
        commits[role] = git("rev-parse", "HEAD")
    return commits


def _doctor(found: Machine, arguments: Sequence[str], line: CommandLine) -> str:
    with mock.patch("deadheat.cli.doctor.look_at", return_value=found):
        return session(["doctor", *arguments], line)


GOOD = replace(machine(), tools=(Tool("engine", "engine 0.1.0", "uv sync builds it", True),))
BAD = replace(
    machine(
        {"allowed": [0], "virtual_machine": True, "governors": ["powersave"], "turbo": True,
         "siblings": {"0": "0-1", "1": "0-1"}},
        {"net.core.somaxconn": "128", "net.ipv4.tcp_max_syn_backlog": "128",
         "kernel.io_uring_disabled": "2"},
        load_average=[3.0, 3.0, 3.0],
        clocksource="hpet",
        containment="none",
        open_files_hard=1024,
    ),
    tools=(
        Tool("engine", None, "uv sync builds it", True),
        Tool("wrk", None, "apt-get install wrk", False),
    ),
)  # fmt: skip


def _served(path: str, line: CommandLine) -> str:
    """The words of a page of `deadheat serve`; those in braces are the ids of runs."""
    with TestClient(make_app(line.store), base_url="http://localhost") as client:
        return words_of(client.get(path.format(**line.runs)).text)


def _page(kind: str, line: CommandLine) -> str:
    """The words of a report as HTML, as a browser shows them; blank lines left out."""
    browser, node = chromium_and_node()
    page = line.folder / "page.html"
    line.stdout("report", line.runs[kind], "--format", "html", "-o", str(page))
    command = (node, WEB / "test" / "text.js", browser, page)
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    lines = (shown.rstrip() for shown in done.stdout.splitlines())
    return line.scrubbed("".join(f"{shown}\n" for shown in lines if shown))


def _new(line: CommandLine) -> str:
    shutil.copytree(CATALOG, line.folder / "catalog")
    return session(["new", "mine", "--like", "hello", "--catalog", "catalog"], line)


ACTING: dict[str, Output] = {
    "run/quick.txt": partial(
        _measured, ["run", "alpha", "beta", "delta", "--protocol", "quick", "--seed", "1"]
    ),
    "run/settle.txt": partial(
        _measured, ["run", "alpha", "beta", "gamma", "--seed", "1", "--latency"]
    ),
    "capacity/search.txt": partial(_measured, ["capacity", "alpha", "gamma"]),
    "capacity/search.json": partial(_measured, ["capacity", "alpha", "--json"]),
    "verify/behavior.txt": partial(_measured, ["verify", "alpha", "delta", "--load", "10"]),
    "verify/behavior.json": partial(_measured, ["verify", "alpha", "delta", "--json"]),
    "regress/pass.txt": partial(_regress, 9010.0, 8, []),
    "regress/fail.txt": partial(_regress, 6000.0, 8, WRITTEN),
    "regress/fail.json": partial(_regress, 6000.0, 8, ["--json"]),
    "regress/inconclusive.txt": partial(_regress, 9000.0, 1, WRITTEN),
    "doctor/good.txt": partial(_doctor, GOOD, []),
    "doctor/bad.txt": partial(_doctor, BAD, ["--strict"]),
    "doctor/bad.json": partial(_doctor, BAD, ["--json"]),
    "serve/listing.txt": partial(_served, "/"),
    "serve/search.txt": partial(_served, "/?q=woo"),
    "serve/server.txt": partial(_served, "/servers/alpha"),
    "serve/missing.txt": partial(_served, "/runs/nothing"),
    "page/levels.txt": partial(_page, "levels"),
    "page/settle.txt": partial(_page, "settle"),
    "page/invalid.txt": partial(_page, "invalid"),
    "new/copy.txt": _new,
}
