import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from deadheat.load import Engine, GeneratorFailed, GeneratorMissing, LoadResult, find_engine
from deadheat.load.pooling import pool
from tests.load.printed import GREETED, SPEC, completed, printed

ENGINE = Engine("deadheat-load")


def parse(name: str) -> LoadResult:
    return ENGINE.parse(SPEC, printed(name), "0.1.0")


def test_the_command_has_the_options_of_the_trial() -> None:
    assert ENGINE.command(SPEC) == [
        *("deadheat-load", "http://127.0.0.1:18100/", "-c", "10", "-t", "1"),
        *("--timeout", "5000ms", "--json", "-d", "1000ms", "--warmup", "0ms"),
    ]


def test_the_command_has_all_other_options() -> None:
    spec = replace(GREETED, keep_alive=False, rate_per_s=1000, seed=7, discard_s=0.2, connections=2)
    command = ENGINE.command(replace(spec, threads=4, arguments=("--pipeline", "2")))
    assert command[2:] == [
        *("-c", "2", "-t", "2", "--timeout", "5000ms"),
        *("--close", "--rate", "1000.000", "--arrival", "poisson", "--seed", "7"),
        *("--expect-body", "Hello, World!", "--pipeline", "2"),
        *("--json", "-d", "1000ms", "--warmup", "200ms"),
    ]


def test_reads_a_closed_loop() -> None:
    result = parse("engine-closed.json")
    assert (result.requests_ok, result.elapsed_s, result.errors) == (23297, 0.3, {})
    assert result.rate_per_s == pytest.approx(23297 / 0.3)
    assert result.requests_sent_in_all == 23297 + 9569  # with the discarded ones
    assert (result.connections_established, result.connections_served) == (4, 4)
    assert result.service_us["p99"] == 78
    assert result.service_us["p99_9"] is None  # too few requests
    assert result.response_us == {}  # a closed loop has no due times
    assert result.offered_rate_per_s is None
    assert [row["ok"] for row in result.series] == [6982, 7380, 8931, 4]
    assert [limit["code"] for limit in result.limits] == ["run_wait"]


def test_histograms_can_be_decoded() -> None:
    result = parse("engine-closed.json")
    assert set(result.histograms) == {"connect_us", "first_byte_us", "service_us"}
    service = HdrHistogram.decode(result.histograms["service_us"])
    assert service.get_total_count() == result.requests_ok


def test_reads_an_open_loop_with_errors() -> None:
    result = parse("engine-rate.json")
    assert result.errors == {"status": 213}
    assert (result.requests_ok, result.requests_sent_in_all) == (425, 638 + 177)
    assert result.offered_rate_per_s == pytest.approx(638 / 0.3)
    assert result.response_us["p50"] == 20
    assert "response_us" in result.histograms


@pytest.mark.parametrize("kind", ["unsolicited_idle", "unclosed"])
def test_bug_what_a_connection_did_without_a_request_was_no_error(kind: str) -> None:
    document = json.loads(printed("engine-closed.json").stdout)
    document["connections"][kind] = 3
    result = ENGINE.parse(SPEC, completed(stdout=json.dumps(document)), "0.1.0")
    assert result.errors == {kind: 3}


def test_reports_a_failed_first_request() -> None:
    with pytest.raises(GeneratorFailed, match=r"the first request failed: .*Connection refused"):
        parse("engine-refused.json")


def test_rejects_output_without_a_document() -> None:
    ended = completed(stderr="deadheat-load: -c: expected a number\n", exit_code=2)
    with pytest.raises(GeneratorFailed, match="deadheat-load ended with 2 and printed") as caught:
        ENGINE.parse(SPEC, ended, "0.1.0")
    assert caught.value.hint == "deadheat-load: -c: expected a number"


def test_bug_a_document_of_another_version_was_a_traceback() -> None:
    document = json.loads(printed("engine-closed.json").stdout)
    for key in {*document} - {"schema"}:
        part = {name: value for name, value in document.items() if name != key}
        for changed in (part, part | {key: None}):
            with suppress(GeneratorFailed):
                result = ENGINE.parse(SPEC, completed(stdout=json.dumps(changed)), "0.1.0")
                assert result.requests_ok == 23297
    del document["pauses"]
    with pytest.raises(GeneratorFailed, match="cannot be read: KeyError"):
        ENGINE.parse(SPEC, completed(stdout=json.dumps(document)), "0.1.0")


def test_rejects_a_document_of_another_schema() -> None:
    with pytest.raises(GeneratorFailed, match="expected schema deadheat-load/1 of deadheat-load"):
        ENGINE.parse(SPEC, completed(json.dumps({"schema": "deadheat-load/2"})), "2.0")


def test_reads_the_version() -> None:
    for said in ("deadheat-load 0.1.0\n", "deadheat-load 0.1.0\ntransports: http, h2; TLS 1.3\n"):
        assert ENGINE.version(completed(said)) == "0.1.0"
    assert ENGINE.transports(completed(said)) == "http, h2; TLS 1.3"
    assert ENGINE.transports(completed("deadheat-load 0.1.0\n")) is None
    assert ENGINE.version(completed("")) == "unknown"


def test_the_environment_chooses_the_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    binary = tmp_path / "deadheat-load"
    binary.write_text("")
    monkeypatch.setenv("DEADHEAT_LOAD", str(binary))
    with pytest.raises(GeneratorMissing, match=f"is not in {tmp_path}") as caught:
        find_engine()  # not executable
    assert caught.value.hint is not None
    assert "make build" in caught.value.hint
    binary.chmod(0o755)
    assert find_engine() == str(binary)


def test_packets_and_bytes_of_slices_add_up_where_all_have_them() -> None:
    without = parse("engine-closed.json")
    counts = {"packets_in": 7, "data_packets_in": 4, "packets_out": 6, "bytes_out": 50}
    known = replace(without, retransmits=2, out_of_order=1, **counts)  # type: ignore[arg-type]
    both = pool([known, known])
    assert (both.retransmits, both.out_of_order, both.segments_lost) == (4, 2, 6)
    assert {name: getattr(both, name) for name in counts} == {n: 2 * c for n, c in counts.items()}
    one_lacks = pool([known, without])
    assert (one_lacks.packets_in, one_lacks.segments_lost) == (None, None)
    assert replace(known, out_of_order=None).segments_lost == 2


def test_what_the_server_had_already_is_not_lost() -> None:
    probed = replace(parse("engine-closed.json"), retransmits=3, spurious_retransmits=2)
    assert probed.segments_lost == 1
    assert pool([probed, probed]).segments_lost == 2
    late = replace(probed, retransmits=0)
    assert late.segments_lost == 0, "the report of a duplicate may come in the next slice"
    assert pool([late, replace(probed, retransmits=4, spurious_retransmits=2)]).segments_lost == 0
