"""Replies that wrk 4.1 and ab 2.3 count wrong, and the engine right, by the server's own count.

The tests of wrong counts are skipped for other versions of wrk and ab, which may count right.
"""

import pytest

from deadheat.load import LoadSpec
from deadheat.load.ab import Ab
from deadheat.load.wrk import Wrk
from tests.engine.runs import answers_accounted_for, run_engine, run_other
from tests.engine.scripted import GOOD, Reply, scripted
from tests.host.support import eventually

CONNECTIONS = 4
WRK = "4.1"
AB = "2.3"
ENGINE = ("-c", str(CONNECTIONS), "-d", "300ms", "--warmup", "0s")

UNTIL_CLOSE = Reply(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nHello, World!", "close")
TRUNCATED = Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHello, World!", "close")
EMPTY = Reply(b"", "close")
GARBAGE = Reply(b"hello there, this is no HTTP\r\n\r\n", "close")
SILENCE = Reply(b"")
HINTED = Reply(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + GOOD)


def test_wrk_counts_the_end_of_a_close_delimited_reply_as_a_read_error() -> None:
    with scripted(UNTIL_CLOSE) as server:
        counted = run_other(Wrk, LoadSpec(server.url, CONNECTIONS, 1.0), WRK)
        answered, connections = server.answered, server.connections
        assert counted.errors["read"] > 0
        assert abs(counted.errors["read"] - answered) <= 2 * CONNECTIONS  # one for each good reply
        assert connections > 1.5 * answered  # and opens two connections for each


def test_engine_counts_close_delimited_replies_as_ok() -> None:
    with scripted(UNTIL_CLOSE) as server:
        for kept in ([], ["--close"]):
            before = server.answered
            document, _ = run_engine(server.url, *ENGINE, *kept)
            assert document["classes"]["ok"] == document["requests"]["scheduled"] > 0
            assert answers_accounted_for(document) == server.answered - before


FAULTS = {"eof_mid_body": TRUNCATED, "eof_on_fresh": EMPTY, "malformed": GARBAGE}


@pytest.mark.parametrize("reply", [TRUNCATED, EMPTY], ids=["truncated", "empty"])
def test_ab_counts_truncated_and_empty_replies_as_complete(reply: Reply) -> None:
    with scripted(reply) as server:
        # The requests end it, not the time.
        spec = LoadSpec(server.url, CONNECTIONS, 20.0, keep_alive=False, request_cap=200)
        counted = run_other(Ab, spec, AB)
        assert counted.requests_ok == 200
        assert not counted.errors
        assert server.answered >= 200


@pytest.mark.parametrize(("name", "reply"), FAULTS.items(), ids=FAULTS)
def test_engine_classifies_each_broken_reply(name: str, reply: Reply) -> None:
    with scripted(reply, first=Reply(GOOD)) as server:
        document, exit_code = run_engine(server.url, *ENGINE, "--any-body")
        assert document["classes"][name] == server.answered - 1 > 0
        assert document["classes"][name] == document["requests"]["scheduled"]
        assert document["rate_per_s"] == 0
        assert exit_code == 3


def test_wrk_reports_no_error_if_nothing_is_answered() -> None:
    with scripted(SILENCE) as server:
        counted = run_other(Wrk, LoadSpec(server.url, CONNECTIONS, 2.0, timeout_s=1.0), WRK)
        assert server.answered >= CONNECTIONS
        assert counted.requests_ok == 0
        assert not counted.errors


def test_engine_counts_unanswered_requests_as_timeouts() -> None:
    with scripted(SILENCE, first=Reply(GOOD)) as server:
        document, exit_code = run_engine(server.url, *ENGINE, "--timeout", "100ms")
        unanswered = document["classes"]["timeout_first_byte"]
        eventually(lambda: server.answered > unanswered)  # its threads may come later
        assert unanswered == server.answered - 1 > 0
        assert unanswered == document["requests"]["scheduled"]
        assert exit_code == 3


def test_wrk_counts_early_hints_as_a_response() -> None:
    with scripted(HINTED) as server:
        counted = run_other(Wrk, LoadSpec(server.url, CONNECTIONS, 1.0), WRK)
        assert counted.requests_ok > 1.5 * server.answered


def test_engine_counts_one_response_after_early_hints() -> None:
    with scripted(HINTED) as server:
        document, _ = run_engine(server.url, *ENGINE)
        assert document["classes"]["ok"] == document["requests"]["scheduled"] > 0
        assert answers_accounted_for(document) == server.answered
