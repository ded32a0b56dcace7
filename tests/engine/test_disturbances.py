"""Disturbances that the engine must count: a short listen queue, a stopped server, resets."""

import json
import signal
import subprocess

import pytest

from tests.engine.runs import (
    BACKENDS,
    LIMIT_S,
    answers_accounted_for,
    engine_binary,
    null_server,
    run_engine,
)
from tests.engine.scripted import GOOD, Reply, scripted

TIMEOUT_US = 200_000


@BACKENDS
def test_listen_queue_of_one_delays_requests_and_loses_none(backend: str) -> None:
    reply = Reply(GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), "close")
    options = ["-d", "300ms", "--warmup", "0s", "--drain", "3s", "--close", "--backend", backend]
    with scripted(reply, backlog=1) as server:
        document, _ = run_engine(server.url, "-c", "32", *options)
        classes = document["classes"]
        assert classes["ok"] > 0
        assert classes["ok"] + classes["unfinished"] == document["requests"]["scheduled"]
        unseen = server.answered - answers_accounted_for(document)
        assert 0 <= unseen <= classes["unfinished"]


def test_stopped_server_gives_timeouts_and_a_tail() -> None:
    with null_server() as server:
        command = [engine_binary(), server.url, "--stream", "-c", "8", "--warmup", "0s"]
        command += ["-d", f"{LIMIT_S}s", "--timeout", f"{TIMEOUT_US // 1000}ms"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as engine:
            assert engine.stdout is not None
            lines = map(json.loads, engine.stdout)
            while not next(lines).get("ok"):
                pass
            server.process.send_signal(signal.SIGSTOP)
            waited = 0
            while waited < 8:  # each connection, in vain
                waited += next(lines)["classes"]["timeout_first_byte"]
            engine.terminate()
            *_, last = lines
            document = last["document"]
            exit_code = engine.wait(LIMIT_S)
    classes = document["classes"]
    assert classes["ok"] > 0
    assert classes["timeout_first_byte"] >= 8
    assert classes["ok"] + classes["timeout_first_byte"] == document["requests"]["scheduled"]
    assert document["latency"]["service_us"]["max"] >= TIMEOUT_US
    assert document["latency"]["service_us"]["count"] >= classes["ok"] + 8
    assert exit_code == 3


@pytest.mark.parametrize("pace", [[], ["--rate", "100"]], ids=["closed", "open"])
def test_server_without_answers_fails_the_run(pace: list[str]) -> None:
    """Regression: with a drain shorter than the timeout, a run without an answer exited with 0."""
    with scripted(Reply(b""), first=Reply(GOOD)) as server:
        document, exit_code = run_engine(
            server.url, "-c", "4", "-d", "300ms", "--warmup", "0s", "--drain", "100ms", *pace
        )
    assert document["classes"]["unfinished"] == document["requests"]["scheduled"] > 0
    assert exit_code == 3


@BACKENDS
def test_counts_every_reset_inside_a_body(backend: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    with scripted(Reply(head + b"x" * 50_000, "reset"), first=Reply(GOOD)) as server:
        options = ["-d", "500ms", "--warmup", "0s", "--any-body", "--backend", backend]
        document, exit_code = run_engine(server.url, "-c", "4", *options)
        classes = document["classes"]
        # What had not been read when the reset came is lost, and may be all of a response.
        assert classes["reset_mid"] > 0
        assert classes["reset_mid"] + classes["reset_before_byte"] == server.answered - 1
        assert document["requests"]["scheduled"] == server.answered - 1
        assert document["rate_per_s"] == 0
        assert exit_code == 3
