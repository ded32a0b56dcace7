from dataclasses import replace

import pytest

from deadheat.errors import DeadheatError
from deadheat.load import GeneratorFailed, LoadResult, LoadSpec
from deadheat.load.ab import Ab
from tests.load.printed import GREETED, OUTPUT, SPEC, completed, printed


def parse(name: str, spec: LoadSpec = GREETED) -> LoadResult:
    return Ab().parse(spec, printed(name), "2.3")


def test_the_command() -> None:
    assert Ab().command(SPEC) == [
        *("ab", "-q", "-c", "10", "-t", "1", "-n", "5000000", "-s", "5", "-k"),
        "http://127.0.0.1:18100/",
    ]


def test_the_command_of_a_connection_per_request() -> None:
    command = Ab().command(replace(SPEC, keep_alive=False, request_cap=20, arguments=("-r",)))
    assert "-k" not in command
    assert command[command.index("-n") + 1] == "20"
    assert command[-2:] == ["-r", "http://127.0.0.1:18100/"]


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(DeadheatError, match="ab has no fixed rate"):
        Ab().command(replace(SPEC, rate_per_s=10))


def test_a_clean_trial() -> None:
    result = parse("ab-close.txt")
    assert (result.requests_ok, result.elapsed_s) == (12594, 1.0)
    assert result.rate_per_s == 12594
    assert result.errors == {}
    assert result.bytes_in == 982332


def test_figures_below_its_resolution_are_not_known() -> None:
    """Regression: what ab rounds to 0 ms was told as a latency of 0."""
    assert parse("ab-close.txt").service_us == {
        **{"min": None, "mean": 1000, "stdev": 300, "p50": 1000, "max": 9000},
        **{"p75": 1000, "p90": 1000, "p95": 1000, "p99": 1000},
    }
    assert parse("ab-good.txt").service_us["p99"] is None


def test_failed_answers_are_no_throughput() -> None:
    """A third had another status, and with it another length: ab counts those in both."""
    result = parse("ab-mixed.txt")
    assert result.errors == {"length": 24293, "status": 24293}
    assert result.requests_ok == 72879 - 2 * 24293
    assert result.requests_ok <= 72879 - 24293


def test_with_a_wrong_first_answer_the_right_ones_are_those_ab_calls_failed() -> None:
    """Regression: with the first request reset, every right answer counted as failed, and every
    reset as a success; and later the trial was lost, with the rate that ab had printed."""
    result = parse("ab-reset.txt")
    assert result.requests_sent_in_all == 40739
    assert result.requests_ok == 34919 == 453947 // len("Hello, World!")
    assert result.errors == {"length": 40739 - 34919}
    assert result.errors_total + result.requests_ok == 40739


def test_no_more_are_right_than_their_bytes_allow() -> None:
    """One in five was cut off after 5 bytes, the first among them."""
    result = parse("ab-short.txt")
    assert result.requests_ok == 24672 == (351576 - 5 * 6168) / len("Hello, World!")
    assert result.errors == {"length": 30840 // 5}
    fewer = (OUTPUT / "ab-short.txt").read_text().replace("351576 bytes", "95256 bytes")
    assert Ab().parse(GREETED, completed(fewer), "2.3").requests_ok == (95256 - 30840) // 13
    assert parse("ab-short.txt", SPEC).errors["length"] > 0  # of a body that is not known


def test_all_its_time_spent_connecting_is_no_result() -> None:
    """Regression: at 20,000 connections it prints a document of 0 bytes and no request, which was
    told as a wrong first answer."""
    printed = (OUTPUT / "ab-reset.txt").read_text()
    printed = printed.replace("Complete requests:      40739", "Complete requests:      0")
    with pytest.raises(GeneratorFailed, match=r"ab ended after 1\.0 s with no request complete"):
        Ab().parse(GREETED, completed(printed), "2.3")


def test_no_result() -> None:
    stderr = (OUTPUT / "ab-silent.stderr.txt").read_text()
    ended = completed("Total of 490 requests completed", stderr, exit_code=119)
    with pytest.raises(GeneratorFailed, match="ab ended with 119 and printed no result") as caught:
        Ab().parse(SPEC, ended, "2.3")
    assert caught.value.hint == "apr_pollset_poll: The timeout specified has expired (70007)"


def test_the_version() -> None:
    told = "This is ApacheBench, Version 2.3 <$Revision$>"
    assert Ab().version(completed(told)) == "2.3"
