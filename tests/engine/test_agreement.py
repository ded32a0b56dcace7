"""Where a server behaves, the engine, wrk and ab agree with it and with each other."""

import pytest

from deadheat.load import LoadSpec
from deadheat.load.ab import Ab
from deadheat.load.wrk import Wrk
from tests.engine.runs import BACKENDS, answers_accounted_for, null_server, run_engine, run_other

CONNECTIONS = 8
BUSY = ("--null-work", "30000")  # the server, not a client, sets the rate


@BACKENDS
@pytest.mark.parametrize("keep_alive", [True, False], ids=["kept", "connection-per-request"])
def test_engine_counts_what_the_server_counts(keep_alive: bool, backend: str) -> None:
    options = ["-d", "300ms", "--warmup", "100ms", "--backend", backend]
    if not keep_alive:
        options.append("--close")
    for threads in ("1", "2"):
        with null_server() as server:
            document, _ = run_engine(server.url, "-c", "8", "-t", threads, *options)
        assert document["backend"] == backend
        assert document["classes"]["ok"] == document["requests"]["scheduled"]
        assert answers_accounted_for(document) == server.counts["answered"]


@BACKENDS
@pytest.mark.parametrize("body_bytes", [100, 100_000], ids=["short", "longer-than-a-read"])
def test_engine_counts_each_pipelined_answer(body_bytes: int, backend: str) -> None:
    options = ["--pipeline", "16", "-d", "300ms", "--warmup", "50ms", "--backend", backend]
    with null_server("--null-body", "x" * body_bytes) as server:
        document, _ = run_engine(server.url, "-c", "3", *options)
    assert document["classes"]["ok"] == document["requests"]["scheduled"]
    assert answers_accounted_for(document) == server.counts["answered"]


@BACKENDS
def test_open_loop_counts_what_the_server_counts(backend: str) -> None:
    options = ["--rate", "1000", "--arrival", "poisson", "-d", "300ms", "--warmup", "100ms"]
    with null_server() as server:
        document, _ = run_engine(server.url, "-c", "8", *options, "--backend", backend)
    assert document["classes"]["ok"] == document["requests"]["scheduled"]
    assert answers_accounted_for(document) == server.counts["answered"]


def test_wrk_counts_what_the_server_counts_except_requests_in_flight() -> None:
    with null_server() as server:
        counted = run_other(Wrk, LoadSpec(server.url, CONNECTIONS, 1.0)).requests_ok
    assert 0 <= server.counts["answered"] - counted <= CONNECTIONS


def test_ab_counts_what_the_server_counts_except_requests_in_flight() -> None:
    with null_server() as server:
        counted = run_other(Ab, LoadSpec(server.url, CONNECTIONS, 1.0)).requests_ok
    assert 0 <= server.counts["answered"] - counted <= CONNECTIONS


@pytest.mark.alone
@pytest.mark.parametrize("tool", [Wrk, Ab], ids=["wrk", "ab"])
def test_rates_of_a_busy_server_agree(tool: type[Wrk] | type[Ab]) -> None:
    """Measured in turns, so that other processes do not always slow down the same tool."""
    ratios: list[float] = []
    with null_server(*BUSY) as server:
        while len(ratios) < 3 and not agree(ratios):
            other = run_other(tool, LoadSpec(server.url, CONNECTIONS, 1.0)).rate_per_s
            document, _ = run_engine(
                server.url, "-c", str(CONNECTIONS), "-d", "1s", "--warmup", "0s"
            )
            ratios.append(document["rate_per_s"] / other)
    assert agree(ratios), ratios


def agree(ratios: list[float]) -> bool:
    """Neither of the two is slower by a third every time."""
    return bool(ratios) and min(ratios) < 3 / 2 and max(ratios) > 2 / 3
