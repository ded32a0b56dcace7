from dataclasses import replace

import pytest

from deadheat.errors import DeadheatError
from deadheat.load import GeneratorFailed, LoadResult
from deadheat.load.wrk import Wrk
from tests.load.printed import SPEC, completed, printed


def parse(name: str) -> LoadResult:
    return Wrk().parse(SPEC, printed(name), "4.1.0")


def test_the_command_has_the_options_of_the_trial() -> None:
    assert Wrk().command(SPEC) == [
        *("wrk", "-t", "1", "-c", "10", "-d", "1s", "--timeout", "5s", "--latency"),
        "http://127.0.0.1:18100/",
    ]


def test_the_command_with_a_connection_per_request_and_arguments() -> None:
    spec = replace(SPEC, keep_alive=False, threads=20, arguments=("-s", "x.lua"))
    assert Wrk().command(spec) == [
        *("wrk", "-t", "10", "-c", "10", "-d", "1s", "--timeout", "5s", "--latency"),
        *("-H", "Connection: close", "-s", "x.lua", "http://127.0.0.1:18100/"),
    ]


def test_rejects_options_that_wrk_does_not_have() -> None:
    with pytest.raises(DeadheatError, match="wrk has no fixed rate"):
        Wrk().command(replace(SPEC, rate_per_s=10))
    with pytest.raises(DeadheatError, match="wrk has no request cap"):
        Wrk().command(replace(SPEC, request_cap=10))


def test_reads_a_trial_without_errors() -> None:
    result = parse("wrk-good.txt")
    assert result.requests_ok == 77169
    assert result.rate_per_s == 70024.28
    assert result.elapsed_s == 1.10
    assert result.errors == {}
    assert result.bytes_in == round(5.74 * 1024**2)
    assert result.service_us == pytest.approx(
        {"mean": 167.74, "stdev": 333.21, "max": 4430, "p50": 124, "p75": 141, "p90": 153}
        | {"p99": 2160}
    )


def test_responses_with_another_status_do_not_count_as_throughput() -> None:
    result = parse("wrk-mixed.txt")
    assert result.errors == {"status": 26613}
    assert result.requests_ok == 79837 - 26613
    assert result.rate_per_s == pytest.approx(72616.19 * (79837 - 26613) / 79837)


def test_reads_socket_errors() -> None:
    result = parse("wrk-reset.txt")
    assert result.errors == {"read": 5782}
    assert result.errors_total == 5782
    assert result.requests_ok == 34691


def test_the_number_of_unserved_connections_is_unknown() -> None:
    assert parse("wrk-silent.txt").errors == {}
    assert parse("wrk-silent.txt").connections_served is None


def test_rejects_output_without_a_result() -> None:
    with pytest.raises(GeneratorFailed, match="wrk ended with 1 and printed no result") as caught:
        Wrk().parse(SPEC, printed("wrk-refused.txt", exit_code=1), "4.1.0")
    assert caught.value.hint == "unable to connect to 127.0.0.1:18199 Connection refused"


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0-3+b2"),
        ("wrk 4.2.0 [kqueue] Copyright (C) 2012 Will Glozer", "4.2.0"),
        ("", "unknown"),
    ],
)
def test_reads_the_version(output: str, version: str) -> None:
    assert Wrk().version(completed(output, exit_code=1)) == version


def test_a_wrk_that_a_signal_ended_early_gives_no_result() -> None:
    with pytest.raises(GeneratorFailed, match=r"wrk was interrupted after 1.1 s of 10 s"):
        Wrk().parse(replace(SPEC, duration_s=10.0), printed("wrk-good.txt"), "4.1.0")
