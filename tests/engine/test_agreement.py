"""Where a server behaves, wrk and ab agree with it and with the engine; and where they do not.

What the engine counts alone is tested beside it, in `engine/tests`. The tests of wrong counts are
skipped for other versions of wrk and ab, which may count right.
"""

import pytest

from deadheat.load import LoadSpec
from deadheat.load.ab import Ab
from deadheat.load.wrk import Wrk
from tests.engine.runs import BACKENDS, answers_accounted_for, null_server, run_engine, run_other
from tests.engine.scripted import GOOD, Reply, scripted

CONNECTIONS = 8
BUSY = ("--null-work", "30000")  # the server, not a client, sets the rate
WRK = "4.1"
AB = "2.3"
TOOLS = pytest.mark.parametrize("tool", [Wrk, Ab], ids=["wrk", "ab"])

UNTIL_CLOSE = Reply(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nHello, World!", True)
TRUNCATED = Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHello, World!", True)
EMPTY = Reply(b"", True)
SILENCE = Reply(b"")
HINTED = Reply(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + GOOD)


@BACKENDS
def test_engine_counts_each_pipelined_answer_that_is_longer_than_a_read(backend: str) -> None:
    options = ["--pipeline", "16", "-d", "300ms", "--warmup", "50ms", "--backend", backend]
    with null_server("--null-body", "x" * 100_000) as server:
        document, _ = run_engine(server.url, "-c", "3", *options)
    assert document["classes"]["ok"] == document["requests"]["scheduled"]
    assert answers_accounted_for(document) == server.counts["answered"]


@TOOLS
def test_wrk_and_ab_count_what_the_server_counts_except_requests_in_flight(
    tool: type[Wrk] | type[Ab],
) -> None:
    with null_server() as server:
        counted = run_other(tool, LoadSpec(server.url, CONNECTIONS, 1.0)).requests_ok
    assert 0 <= server.counts["answered"] - counted <= CONNECTIONS


@pytest.mark.alone
@TOOLS
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


def test_wrk_counts_the_end_of_a_close_delimited_reply_as_a_read_error() -> None:
    with scripted(UNTIL_CLOSE) as server:
        counted = run_other(Wrk, LoadSpec(server.url, CONNECTIONS, 1.0), WRK)
        answered, connections = server.answered, server.connections
        assert counted.errors["read"] > 0
        assert abs(counted.errors["read"] - answered) <= 2 * CONNECTIONS  # one for each good reply
        assert connections > 1.5 * answered  # and opens two connections for each


@pytest.mark.parametrize("reply", [TRUNCATED, EMPTY], ids=["truncated", "empty"])
def test_ab_counts_truncated_and_empty_replies_as_complete(reply: Reply) -> None:
    with scripted(reply) as server:
        # The requests end it, not the time.
        spec = LoadSpec(server.url, CONNECTIONS, 20.0, keep_alive=False, request_cap=200)
        counted = run_other(Ab, spec, AB)
        assert counted.requests_ok == 200
        assert not counted.errors
        assert server.answered >= 200


def test_wrk_reports_no_error_if_nothing_is_answered() -> None:
    with scripted(SILENCE) as server:
        counted = run_other(Wrk, LoadSpec(server.url, CONNECTIONS, 2.0, timeout_s=1.0), WRK)
        assert server.answered >= CONNECTIONS
        assert counted.requests_ok == 0
        assert not counted.errors


def test_wrk_counts_early_hints_as_a_response() -> None:
    with scripted(HINTED) as server:
        counted = run_other(Wrk, LoadSpec(server.url, CONNECTIONS, 1.0), WRK)
        assert counted.requests_ok > 1.5 * server.answered
