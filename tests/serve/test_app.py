"""The served pages of made-up runs."""

import asyncio
import datetime
import json
import logging
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Thread

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from deadheat import report
from deadheat.cli.serve import Http
from deadheat.errors import DeadheatError
from deadheat.host.agent.kernel import start_ticks
from deadheat.serve import document, live
from deadheat.serve.app import make_app
from deadheat.serve.document import PackedDocument, document_of, packed_document
from deadheat.serve.live import time_left
from deadheat.serve.servers import DATES_MAX, LEFT, RIGHT, WIDTH, Mark, chart, points
from deadheat.store import ImportedFrom, Store
from deadheat.store.listing import run_progress
from deadheat.workload import HELLO, Level
from tests.host.support import eventually
from tests.report.made import QUICK, SETTLE, MadeRun, failed, made_run
from tests.store.test_store import StandingClock

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, HOSTILE: 3000}, blocks=4)
    run.end()
    return run


@pytest.fixture
def client(run: MadeRun) -> Iterator[TestClient]:
    with TestClient(make_app(run.store.path), base_url="http://localhost") as client:
        yield client


def test_runs_are_listed_and_can_be_searched(client: TestClient, run: MadeRun) -> None:
    second = MadeRun(run.store)
    second.race({"gamma": 100}, blocks=2)
    second.end()
    listing = client.get("/runs").text
    assert run.run_id in listing
    assert second.run_id in listing
    matches = client.get("/?q=GAMMA settle").text
    assert second.run_id in matches
    assert run.run_id not in matches
    assert "0 runs that match" in client.get("/?q=nothing").text


def test_the_index_is_the_board_of_all_runs(client: TestClient, run: MadeRun) -> None:
    page = client.get("/").text
    assert '<table id="board">' in page
    links = re.findall(r'href="((?:runs|servers)/[^"#]*)', page)
    assert len(links) >= 3
    for link in links:
        assert client.get(f"/{link}").status_code == 200, link
    growing = MadeRun(run.store)
    growing.contender("alpha")
    assert growing.run_id in client.get("/").text, "a run in progress is listed, not disturbed"


@pytest.mark.parametrize("path", ["/runs", "/servers/alpha", f"/?q={HOSTILE}", "/runs/%3Cb%3E"])
def test_foreign_text_is_escaped(client: TestClient, path: str) -> None:
    page = client.get(path).text
    assert "<img" not in page
    assert "<b>" not in page


def test_the_document_of_a_run_is_its_json_report(client: TestClient, run: MadeRun) -> None:
    document = client.get(f"/runs/{run.run_id}/document")
    assert document.headers["content-type"] == "application/json"
    view = report.load_view(run.store, run.run_id, whole=True)
    assert document.json() == json.loads(report.write(view, "json"))
    plain = client.get(f"/runs/{run.run_id[:-1]}/document", headers={"accept-encoding": ""})
    assert (document.headers["content-encoding"], plain.text) == ("gzip", document.text)
    assert "content-encoding" not in plain.headers


def test_events_of_a_complete_run_end(client: TestClient, run: MadeRun) -> None:
    events = client.get(f"/runs/{run.run_id}/events").text
    assert json.loads(events.removeprefix("data: "))["state"] == "complete"


def test_events_follow_a_run_in_progress(run: MadeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "INTERVAL_S", 0.01)
    second = MadeRun(run.store)
    second.contender("alpha")

    async def follow() -> list[dict[str, object]]:
        events: list[dict[str, object]] = []
        async for event in live.events(run.store.path, second.run_id, live.Documents()):
            events.append(json.loads(event.removeprefix("data: ")))
            if len(events) == 1:
                second.trial("alpha", 5.0)
            elif len(events) == 2:
                second.end()
        return events

    states = [(event["state"], event["trials"]) for event in asyncio.run(follow())]
    assert states == [("running", 0), ("running", 1), ("complete", 1)]


def test_a_running_run_is_not_read_again_at_each_fetch(run: MadeRun) -> None:
    """Each fetch made the document of a running run again, on the machine that was measuring."""
    made: list[str] = []

    def make(store_path: Path, run_id: str) -> PackedDocument:
        made.append(run_id)
        return PackedDocument(packed_document(store_path, run_id), 1.0)  # faster than a process

    ticks = iter(range(100))
    now_s = [0.0]
    documents = live.Documents(make, lambda: now_s[0] + next(ticks))  # each look takes 1 s
    growing = MadeRun(run.store)
    growing.race({"gamma": 100}, blocks=2)
    first = documents.of(run.store, growing.run_id)
    assert documents.of(run.store, growing.run_id) is first  # no new trial
    now_s[0] = 1000.0
    assert documents.of(run.store, growing.run_id) is first
    growing.race({"delta": 100}, blocks=2)
    second = documents.of(run.store, growing.run_id)
    assert second is not first
    growing.race({"epsilon": 100}, blocks=2)
    assert documents.of(run.store, growing.run_id) is second  # a new trial, but it rests
    growing.end()
    last = documents.of(run.store, growing.run_id)
    assert last is not second  # the end is shown without a rest
    assert documents.of(run.store, growing.run_id) is last
    assert len(made) == 3


def test_a_document_is_made_in_a_separate_process(run: MadeRun) -> None:
    """Regression: the memory of `serve` grew by a quarter an hour beside a race."""
    document = document_of(run.store.path, run.run_id)
    assert document.packed == packed_document(run.store.path, run.run_id)
    assert document.cpu_ms > 0


TIED = """
import os, signal, sys, time
from deadheat.host.agent.init import end_with
if len(sys.argv) == 1:
    child = [sys.executable, "-c", sys.orig_argv[2], str(os.getpid())]
    if os.fork():
        time.sleep(600)
    os.execv(sys.executable, child)
end_with(int(sys.argv[1]), signal.SIGKILL)
print(os.getpid(), flush=True)
time.sleep(600)
"""


def test_bug_a_killed_serve_left_the_process_that_made_a_document() -> None:
    with subprocess.Popen([sys.executable, "-c", TIED], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert start_ticks(child) is not None
        process.kill()
        eventually(lambda: start_ticks(child) is None)


def test_an_error_in_that_process_keeps_its_words(run: MadeRun) -> None:
    with pytest.raises(DeadheatError, match="no run 20000101-000000-aaaa"):
        document_of(run.store.path, "20000101-000000-aaaa")


def test_a_document_that_takes_too_long_is_given_up(
    run: MadeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "DEADLINE_S", 0.001)
    with pytest.raises(DeadheatError, match="could not be made: it took longer than"):
        document_of(run.store.path, run.run_id)


def test_a_timeline_has_the_valid_trials_of_every_run(client: TestClient, run: MadeRun) -> None:
    second = MadeRun(run.store)
    second.race({"alpha": 4000, "reference": 8000}, blocks=3)
    second.trial("alpha", 1.0, gates=failed(), block=9)
    second.end()
    first, last = points(run.store, "alpha")
    assert first.mark.median_per_s == pytest.approx(9000, rel=0.1)
    assert last.mark.median_per_s == pytest.approx(4000, rel=0.1)
    assert (last.trials, first.of_reference) == (9, None)
    assert last.of_reference == pytest.approx(0.5, rel=0.05)
    page = client.get("/servers/alpha").text
    assert page.index(second.run_id) < page.rindex(run.run_id)


def test_runs_of_one_second_are_in_the_order_of_their_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: they were in the order of their ids, which have a random part."""
    drawn = iter(["bbbb", "aaaa"])
    monkeypatch.setattr("deadheat.store.store.secrets.token_hex", lambda _: next(drawn))
    monkeypatch.setattr("deadheat.store.store.datetime.datetime", StandingClock)
    first = made_run(tmp_path / "runs.sqlite")
    second = MadeRun(first.store)
    for run in (first, second):
        run.race({"alpha": 9000}, blocks=1)
        run.end()
    assert [point.mark.run_id for point in points(first.store, "alpha")] == [
        first.run_id,
        second.run_id,
    ]


@pytest.mark.parametrize("path", ["/runs/nothing", "/servers/unknown", "/assets/app.py"])
def test_unknown_paths_are_404(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_bug_links_of_the_served_board_led_to_no_page(client: TestClient, run: MadeRun) -> None:
    """Those of a server without a valid trial, and those to a workload of a server."""
    other = MadeRun(run.store)
    other.race({"alpha": 9000}, blocks=4)
    other.contender("broken")
    other.trial("broken", 5.0, gates=failed())
    other.end()
    links = re.findall(r'href="(servers/[^"#]*)#(w-[^"]*)"', client.get("/").text)
    assert {anchor for _, anchor in links} == {"w-hello"}
    pages = {file: client.get(f"/{file}") for file, _ in links}
    assert {page.status_code for page in pages.values()} == {200}
    assert 'id="w-hello"' in pages["servers/alpha.html"].text
    assert "No stored run has a valid trial of it." in pages["servers/broken.html"].text


def test_rejects_a_foreign_host_name(client: TestClient) -> None:
    page = "/assets/live.js"
    assert client.get(page, headers={"host": "evil.example"}).status_code == 400
    assert client.get(page, headers={"host": "127.0.0.1:8008"}).status_code == 200


def test_a_server_page_marks_imported_runs(tmp_path: Path, run: MadeRun) -> None:
    with Store(tmp_path / "other.sqlite") as store:
        store.take(run.store, run.run_id, ImportedFrom(at="2026-11-22", bundle="x.deadheat"))
    with TestClient(make_app(tmp_path / "other.sqlite"), base_url="http://localhost") as other:
        assert f"{run.run_id}</a>, imported" in other.get("/servers/alpha").text
    with TestClient(make_app(run.store.path), base_url="http://localhost") as own:
        assert "imported" not in own.get("/servers/alpha").text


BEGINNING = b"POST /%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("answers", [b"at-once", b"in-parts", b"later"])
def test_bug_a_client_that_breaks_http_in_the_middle_was_a_traceback(
    answers: bytes, pieces: int, caplog: pytest.LogCaptureFixture
) -> None:
    """h11 refused the answer of the application after the 400, and a 400 after its beginning."""

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"part"
            await asyncio.sleep(0.1)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        path = Request(scope).url.path
        if path == "/later":
            await asyncio.sleep(0.2)
        answer = StreamingResponse(parts()) if path == "/in-parts" else Response("whole")
        await answer(scope, receive, send)

    config = uvicorn.Config(application, port=0, http=Http, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        address = server.servers[0].sockets[0].getsockname()
        with socket.create_connection(address, 30) as client:
            sent = [BEGINNING % answers, b"not a chunk\r\n"]
            client.sendall(sent[0] if pieces == 2 else b"".join(sent))
            if pieces == 2:
                time.sleep(0.05)
                client.sendall(sent[1])
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 400") == (pieces == 1 or answers == b"later"), answer
        with socket.create_connection(address, 30) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
    finally:
        server.should_exit = True
        thread.join()
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


def marks(number: int, highest_per_s: float = 9500.0) -> list[Mark]:
    return [
        Mark(
            run_id=f"run-{index}",
            started_at=datetime.datetime(2026, 1, 1) + datetime.timedelta(index // 10),
            level=Level(HELLO, 100),
            version=f"1.{index // 100}",
            median_per_s=0.8 * highest_per_s,
            slowest_per_s=0.5 * highest_per_s,
            fastest_per_s=highest_per_s,
        )
        for index in range(number)
    ]


def labels(drawn: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", drawn)


def positions(drawn: str) -> list[float]:
    return [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]


@pytest.mark.parametrize("places", [[(LEFT + WIDTH - RIGHT) / 2], [LEFT, WIDTH - RIGHT]])
def test_a_single_run_is_in_the_middle_and_two_are_at_the_ends(places: list[float]) -> None:
    drawn = chart("rates", marks(len(places)))
    assert positions(drawn) == places
    assert labels(drawn).count("2026-01-01") == 1


def test_many_runs_have_few_dates_and_each_version_once() -> None:
    drawn = chart("rates", marks(200))
    dates = [label for label in labels(drawn) if label.startswith("2026-")]
    assert len(positions(drawn)) == 200
    assert 2 <= len(dates) <= DATES_MAX
    assert len(set(dates)) == len(dates)
    assert [label for label in labels(drawn) if label.startswith("1.")] == ["1.0", "1.1"]


@pytest.mark.parametrize(
    ("highest_per_s", "ticks"),
    [
        (9500.0, ["0", "2,000", "4,000", "6,000", "8,000", "10,000"]),
        (123_456.0, ["0", "25,000", "50,000", "75,000", "100,000", "125,000"]),
        (0.7, ["0", "0.2", "0.4", "0.6", "0.8"]),
    ],
)
def test_ticks_are_round_rates(highest_per_s: float, ticks: list[str]) -> None:
    assert labels(chart("rates", marks(1, highest_per_s)))[: len(ticks)] == ticks


def left(run: MadeRun) -> str | None:
    return time_left(run_progress(run.store, run.run_id))


def test_a_race_with_a_budget_ends_with_it_at_the_latest(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=SETTLE)
    run.contender("alpha")
    assert left(run) is None
    run.trial("alpha", 9000.0, at_s=60.0)
    assert left(run) == "at most 4 min"
    run.trial("alpha", 9000.0, at_s=301.0, block=2)
    assert left(run) == "at most 1 s"


def test_repetitions_take_in_proportion_to_those_done(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=QUICK)
    for name in ("alpha", "beta"):
        run.contender(name)
    run.trial("alpha", 9000.0, at_s=1.0)
    run.trial("beta", 9000.0, at_s=10.0)
    assert left(run) == "about 20 s"  # 2 of 6 trials took 10 s
