"""ab: its command and output, also of several processes."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.host import ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.load import GeneratorFailed, LoadResult, LoadSpec
from deadheat.load.ab import Ab
from deadheat.load.pooling import SCRIPT, Several
from tests.host.support import eventually
from tests.load.printed import GREETED, OUTPUT, SPEC, completed, printed


def parse(name: str, spec: LoadSpec = GREETED) -> LoadResult:
    return Ab().parse(spec, printed(name), "2.3")


def test_the_command_has_the_options_of_the_trial() -> None:
    assert Ab().command(SPEC) == [
        *("ab", "-q", "-c", "10", "-t", "1", "-n", "5000000", "-s", "5", "-k"),
        "http://127.0.0.1:18100/",
    ]


def test_the_command_with_a_connection_per_request() -> None:
    command = Ab().command(replace(SPEC, keep_alive=False, request_cap=20, arguments=("-r",)))
    assert "-k" not in command
    assert command[command.index("-n") + 1] == "20"
    assert command[-2:] == ["-r", "http://127.0.0.1:18100/"]


def test_rejects_options_that_ab_does_not_have() -> None:
    with pytest.raises(DeadheatError, match="ab has no fixed rate"):
        Ab().command(replace(SPEC, rate_per_s=10))


def test_reads_a_trial_without_errors() -> None:
    result = parse("ab-close.txt")
    assert (result.requests_ok, result.elapsed_s) == (12594, 1.0)
    assert result.rate_per_s == 12594
    assert result.errors == {}
    assert result.bytes_in == 982332


def test_latency_below_the_resolution_is_unknown() -> None:
    """Regression: ab rounds to 0 ms, which was reported as a latency of 0."""
    assert parse("ab-close.txt").service_us == {
        **{"min": None, "mean": 1000, "stdev": 300, "p50": 1000, "max": 9000},
        **{"p75": 1000, "p90": 1000, "p95": 1000, "p99": 1000},
    }
    assert parse("ab-good.txt").service_us["p99"] is None


def test_failed_responses_do_not_count_as_throughput() -> None:
    """A third had another status and length; ab counts these in both."""
    result = parse("ab-mixed.txt")
    assert result.errors == {"length": 24293, "status": 24293}
    assert result.requests_ok == 72879 - 2 * 24293
    assert result.requests_ok <= 72879 - 24293


def test_after_a_wrong_first_response_the_failed_ones_are_right() -> None:
    """Regression: after a reset of the first request every right response counted as failed and
    every reset as ok. A later version lost the trial with the rate that ab had printed."""
    result = parse("ab-reset.txt")
    assert result.requests_sent_in_all == 40739
    assert result.requests_ok == 34919 == 453947 // len("Hello, World!")
    assert result.errors == {"length": 40739 - 34919}
    assert result.errors_total + result.requests_ok == 40739


def test_the_received_bytes_limit_the_right_responses() -> None:
    """One in five was truncated after 5 bytes, also the first."""
    result = parse("ab-short.txt")
    assert result.requests_ok == 24672 == (351576 - 5 * 6168) / len("Hello, World!")
    assert result.errors == {"length": 30840 // 5}
    fewer_bytes = (OUTPUT / "ab-short.txt").read_text().replace("351576 bytes", "95256 bytes")
    assert Ab().parse(GREETED, completed(fewer_bytes), "2.3").requests_ok == (95256 - 30840) // 13
    assert parse("ab-short.txt", SPEC).errors["length"] > 0  # the body is unknown


def test_rejects_a_trial_without_a_connection() -> None:
    """Regression: at 20,000 connections ab reports a document of 0 bytes and no request, which
    counted as a wrong first response."""
    printed = (OUTPUT / "ab-reset.txt").read_text()
    printed = printed.replace("Complete requests:      40739", "Complete requests:      0")
    with pytest.raises(GeneratorFailed, match=r"ab ended after 1\.0 s with no request complete"):
        Ab().parse(GREETED, completed(printed), "2.3")


def test_rejects_output_without_a_result() -> None:
    stderr = (OUTPUT / "ab-silent.stderr.txt").read_text()
    silent = completed("Total of 490 requests completed", stderr, exit_code=119)
    with pytest.raises(GeneratorFailed, match="ab ended with 119 and printed no result") as caught:
        Ab().parse(SPEC, silent, "2.3")
    assert caught.value.hint == "apr_pollset_poll: The timeout specified has expired (70007)"


def test_bug_a_lack_of_ports_was_shown_as_a_number_of_apr() -> None:
    """At 20,000 connections, those of the trial before still held their ports."""
    stderr = "apr_socket_connect(): Cannot assign requested address (99)"
    failed = completed("Test aborted after 10 failures", stderr, exit_code=99)
    with pytest.raises(GeneratorFailed, match="no free port for some of") as caught:
        Ab().parse(SPEC, failed, "2.3")
    assert "ip_local_port_range" in (caught.value.hint or "")


def test_reads_the_version() -> None:
    output = "This is ApacheBench, Version 2.3 <$Revision$>"
    assert Ab().version(completed(output)) == "2.3"


def test_an_ab_that_a_signal_ended_early_gives_no_result() -> None:
    with pytest.raises(GeneratorFailed, match=r"ab was interrupted after 1.0 s of 10 s"):
        Ab().parse(replace(SPEC, duration_s=10.0), printed("ab-good.txt"), "2.3")


def test_an_ab_that_reached_its_request_cap_did_not_end_early() -> None:
    capped = replace(SPEC, duration_s=10.0, request_cap=1)
    assert Ab().parse(capped, printed("ab-good.txt"), "2.3").requests_ok


PRINTED = (OUTPUT / "ab-close.txt").read_text()
CROWD = LoadSpec("http://127.0.0.1:1/", 300, 1.0, keep_alive=False, request_cap=50_000)
BOTH = Several(Ab(), 200)


def script_output(*numbers: int) -> str:
    """The output of the script for processes that all print `PRINTED`."""
    return "".join(json.dumps([number, 0, PRINTED, ""]) + "\n" for number in numbers)


def test_few_connections_need_one_generator() -> None:
    few = replace(CROWD, connections=200)
    assert BOTH.command(few) == Ab().command(few)


def test_many_connections_are_split() -> None:
    *_, commands = BOTH.command(CROWD)
    words = json.loads(commands)
    assert [part[part.index("-c") + 1] for part in words] == ["150", "150"]
    assert [part[part.index("-n") + 1] for part in words] == ["25000", "25000"]


def test_results_are_added() -> None:
    single = Ab().parse(CROWD, completed(PRINTED), "2")
    both = BOTH.parse(CROWD, completed(script_output(0, 1)), "2")
    assert both.requests_ok == 2 * single.requests_ok
    assert both.elapsed_s == single.elapsed_s
    assert both.rate_per_s == pytest.approx(2 * single.rate_per_s, rel=0.01)
    assert both.service_us["max"] == single.service_us["max"]


def test_rejects_missing_output() -> None:
    with pytest.raises(GeneratorFailed, match="2 of 2 ab processes gave no result") as caught:
        BOTH.parse(CROWD, completed(stderr="no python", exit_code=1), "2")
    assert caught.value.hint == "no python"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            json.dumps([1, 119, "", "apr_socket_recv: reset"]) + "\n",
            "ab ended with 119 and printed no result (apr_socket_recv: reset)",
        ),
        (script_output(1)[:50], None),
    ],
    ids=["no result", "truncated line"],
)
def test_a_generator_without_a_result_fails_the_trial(line: str, hint: str | None) -> None:
    with pytest.raises(GeneratorFailed, match="1 of 2 ab processes gave no result") as caught:
        BOTH.parse(CROWD, completed(script_output(0) + line), "2")
    assert caught.value.hint == hint


def test_a_hanging_generator_does_not_hide_the_output_of_others(tmp_path: Path) -> None:
    """Regression: output was printed only at the end, and lost if the time limit came first."""
    commands = [
        [sys.executable, "-c", "import time; time.sleep(600)"],
        [sys.executable, "-c", "print('whole'); raise SystemExit(3)"],
    ]
    with LocalHost() as host:
        command = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
        log = tmp_path / "log"
        process = host.start(ProcessSpec(command), str(log))
        eventually(lambda: log.read_text().endswith("\n"))
        assert host.alive(process) is None
    assert json.loads(log.read_text()) == [1, 3, "whole\n", ""]
