"""Gates: which trials they fail, what they cannot resolve, and when they have no reading."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from deadheat.host import Completed
from deadheat.host.fake import FakeHost
from deadheat.measure.contender import CONTROL_WORKS, NULL_SERVER, REFERENCE, Contender, Instance
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import (
    GATES,
    judge,
    judge_block,
    judge_load_host,
    judge_slices,
    steady_gate,
)
from deadheat.measure.world import Link, World
from tests.measure.made_evidence import codes, evidence, gate_of, made_world, sample

CODES = {gate.__name__ for gate in GATES}
OPEN_LOOP_ONLY = {"achieved", "send_lag"}
CLOSED_LOOP_ONLY = {"little_law", "frequency"}


def open_loop(late: int = 0, **result: Any) -> Evidence:
    """10,000 requests/s offered for one second; `late` of them are answered after it."""
    rows = [{"at_s": n / 10, "ok": 1000 - late // 10} for n in range(1, 11)]
    defaults = {
        "service_us": {"mean": 100.0},
        "response_us": {"p50": 120.0},
        "offered_rate_per_s": 10_000.0,
        "client_lag_us_p99": 50.0,
        "series": [*rows, {"at_s": 1.1, "ok": late}],
    }
    return evidence(defaults | result, {"rate_per_s": 10_000.0})


def test_good_closed_loop_trial_passes_all_its_gates() -> None:
    judged = judge(evidence())
    assert {gate.code for gate in judged} == CODES - OPEN_LOOP_ONLY
    assert all(gate.passed and gate.unit and gate.advice == "" for gate in judged)


def test_good_open_loop_trial_passes_all_its_gates() -> None:
    judged = judge(open_loop())
    assert {gate.code for gate in judged} == CODES - CLOSED_LOOP_ONLY
    assert all(gate.passed and gate.unit for gate in judged)


@pytest.mark.parametrize(
    ("code", "bad"),
    [
        ("errors", evidence({"errors": {"reset_mid": 1}})),
        ("served", evidence({"connections_served": 9})),
        ("workers", evidence(workers_gone=1)),
        ("client_resources", evidence({"limits": [{"code": "client_resources", "reading": 3.0}]})),
        ("little_law", evidence({"little_law_error": -0.1})),
        ("little_law", evidence({"little_law_error": 0.1})),
        ("client_cpu", evidence({"busiest_thread_share": 0.81})),
        ("client_wait", evidence({"run_wait_share": 0.06})),
        ("ceiling", evidence(ceiling_per_s=14_000.0)),
        ("steal", evidence(last=sample(1.0, {"steal": 5}))),
        ("throttled", evidence(last=replace(sample(1.0), throttled=1))),
        ("neighbor", evidence(last=sample(1.0, {"user": 100, "system": 20}, server_cpu_s=0.5))),
        ("frequency", evidence(clock_khz=(2_900_000, 3_000_000), clock_khz_max=3_110_000.0)),
        ("listen_drops", evidence(last=sample(1.0, network={"ListenDrops": 8}))),
        ("retransmits", evidence(last=sample(1.0, network={"RetransSegs": 9}))),
        ("network", evidence(link=Link(round_trip_us=900.0, bytes_per_s=1e9))),
        ("skew", evidence({"skew_us": 150_000.0})),
        ("network", evidence({"bytes_in": 10**7}, link=Link(50.0, 1.1e7))),
        ("achieved", open_loop(late=200)),
        ("send_lag", open_loop(client_lag_us_p99=101.0)),
    ],
)
def test_each_fault_fails_only_its_gate(code: str, bad: Evidence) -> None:
    failed = [gate for gate in judge(bad) if not gate.passed]
    assert [gate.code for gate in failed] == [code]
    assert failed[0].advice
    assert failed[0].reading != failed[0].threshold


def test_gate_functions_are_named_like_their_codes() -> None:
    both = [evidence(), open_loop()]
    for gate in GATES:
        codes_read = {reading.code for trial in both if (reading := gate(trial)) is not None}
        assert codes_read == {gate.__name__}


@pytest.mark.parametrize(
    ("url", "round_trip_us"),
    [("http://127.0.0.1/", 450.0), ("https://127.0.0.1/", 300.0)],  # a handshake of TLS is one
)
def test_network_of_a_connection_for_each_request_counts_more_round_trips(
    url: str, round_trip_us: float
) -> None:
    each = evidence(spec={"keep_alive": False, "url": url}, link=Link(round_trip_us, 1e9))
    assert gate_of("network", each).reading == pytest.approx(0.9)


def test_bug_an_upload_that_filled_the_link_passed() -> None:
    sent = evidence({"bytes_in": 10**4, "bytes_out": 10**7}, link=Link(50.0, 1.1e7))
    assert "bandwidth" in gate_of("network", sent).advice


def test_network_of_an_open_loop_is_its_bandwidth() -> None:
    assert gate_of("network", replace(open_loop(), link=Link(900.0, 1e9))).passed


def test_skew_of_slices_is_against_one_slice() -> None:
    assert gate_of("skew", evidence({"skew_us": 9000.0})).passed
    assert not gate_of("skew", evidence({"skew_us": 9000.0}, window_s=0.08)).passed


OF_THE_ENGINE = {"served", "client_resources", "client_wait", "little_law"}
WRK = {
    "generator": "wrk",
    **dict.fromkeys(("connections_served", "busiest_thread_share", "run_wait_share")),
    "little_law_error": None,
}


@pytest.mark.parametrize(
    ("trial", "left_out"),
    [
        (evidence(WRK), OF_THE_ENGINE),
        (evidence(WRK, {"threads": 2}), {*OF_THE_ENGINE, "client_cpu"}),
        (evidence(probes_client=True), {"client_cpu", "ceiling"}),
        (evidence(ceiling_per_s=None), {"ceiling"}),
        (evidence(link=None), {"network"}),
        (evidence({"skew_us": None}), {"skew"}),
        (evidence(cpus=(9,)), {"steal", "neighbor"}),
        (evidence(last=replace(sample(1.0), usage={})), {"neighbor"}),
        (evidence(last=replace(sample(1.0), network={})), {"listen_drops", "retransmits"}),
        (evidence(clock_khz=()), {"frequency"}),
        (evidence(clock_khz_max=None), {"frequency"}),
    ],
)
def test_gates_without_a_reading_are_left_out(trial: Evidence, left_out: set[str]) -> None:
    assert codes(trial) == CODES - OPEN_LOOP_ONLY - left_out


IDLE = {"little_law_error": -0.1}


@pytest.mark.parametrize(
    ("code", "trial", "said"),
    [
        ("errors", evidence({"errors": {"status": 2, "reset_mid": 40}}), "40 reset_mid, 2 status$"),
        ("errors", evidence({"generator": "wrk", "errors": {"read": 1143}}), "right answer"),
        ("network", evidence(link=Link(900.0, 1e9)), "use more connections"),
        ("network", evidence({"bytes_in": 10**7}, link=Link(50.0, 1.1e7)), "bandwidth"),
        ("client_cpu", evidence({"busiest_thread_share": 0.9}), "--load-threads.*--load-host"),
        ("ceiling", evidence(ceiling_per_s=11_000.0), "--load-threads.*--load-host"),
        ("little_law", evidence(IDLE), "connections were idle"),
        ("little_law", evidence(IDLE, {"http2_streams": 1}), "connections were idle"),
        ("little_law", evidence(IDLE, {"http2_streams": 10}), "streams were idle"),
    ],
)
def test_advice_says_what_it_was_and_what_helps(code: str, trial: Evidence, said: str) -> None:
    assert re.search(said, gate_of(code, trial).advice)


def test_client_cpu_of_one_thread_is_read_from_its_process() -> None:
    ab = {"generator": "ab", "busiest_thread_share": None}
    process = Completed(0, "", "", elapsed_s=2.0, cpu_s=1.8)
    assert gate_of("client_cpu", evidence(ab, generator=process)).reading == pytest.approx(0.9)


def test_gates_use_their_own_thresholds_for_limits_of_the_engine() -> None:
    limits = [{"code": "little_law", "reading": 0.04}, {"code": "steal", "reading": 0.02}]
    result = {"limits": limits, "little_law_error": 0.04, "run_wait_share": 0.03}
    assert all(gate.passed for gate in judge(evidence(result)))


DOWNLOAD = sample(1.0, network={"RetransSegs": 900})
PROBED = {"retransmits": 900, "spurious_retransmits": 900}


@pytest.mark.parametrize(
    ("result", "lost"),
    [
        ({"retransmits": 0}, 0),  # regression: a download of another program failed every contender
        ({"retransmits": 2}, 2),
        ({"retransmits": 1, "out_of_order": 2}, 3),  # of the server, which came early
        (PROBED, 0),  # bug: servers that read late acknowledge late
        ({**PROBED, "spurious_retransmits": 896}, 4),
    ],
)
def test_only_segments_of_the_load_that_were_lost_are_retransmits(
    result: Mapping[str, Any], lost: int
) -> None:
    gate = gate_of("retransmits", evidence(result, last=DOWNLOAD))
    assert (gate.reading, gate.passed) == (lost, lost == 0)


def test_retransmits_of_slices_are_read_without_samples() -> None:
    def judged(result: Mapping[str, Any]) -> dict[str, bool]:
        gates = judge_slices(evidence(result, samples=()))
        return {gate.code: gate.passed for gate in gates if gate.code == "retransmits"}

    assert judged({"retransmits": 1}) == {"retransmits": True}
    assert judged({"retransmits": 2}) == {"retransmits": False}
    assert judged({"retransmits": None}) == {}, "unix sockets have no count"


def test_one_retransmitted_segment_passes() -> None:
    one_segment = sample(1.0, network={"RetransSegs": 8})
    assert gate_of("retransmits", evidence({"requests_ok": 300}, last=one_segment)).passed


def test_achieved_ignores_answers_after_the_window_but_for_those_in_flight() -> None:
    late = gate_of("achieved", open_loop(late=500, rate_per_s=10_000.0))
    assert late.reading == pytest.approx(0.95)
    assert not late.passed
    assert gate_of("achieved", open_loop(late=1000, service_us={"mean": 100_000.0})).passed


def test_send_lag_is_judged_relative_to_the_response_time() -> None:
    assert gate_of(
        "send_lag", open_loop(client_lag_us_p99=400.0, response_us={"p50": 10_000.0})
    ).passed


def test_open_loop_with_few_requests_needs_few_connections() -> None:
    few = {"requests_ok": 4, "connections_served": 4}
    assert gate_of("served", evidence(few, {"rate_per_s": 4.0})).passed
    assert not gate_of("served", evidence(few)).passed


@pytest.mark.parametrize(
    ("kind", "passed"),
    [("flat", True), ("warm-up", True), ("slowdown", True), ("none", False), ("unsought", None)],
)
def test_an_instance_has_to_be_steady_if_that_was_sought(kind: str, passed: bool | None) -> None:
    gate = steady_gate(kind)
    assert (gate.passed if gate else None) is passed
    assert gate is None or bool(gate.advice) is not passed


def test_dropped_connections_count_for_the_contender_whose_slices_saw_them() -> None:
    """Regression: one server with a short queue failed the block of every contender."""
    busy_namespace = sample(1.0, network={"ListenDrops": 1293})
    assert gate_of("listen_drops", evidence(last=busy_namespace, listen_drops=0)).passed
    assert gate_of("listen_drops", evidence(last=busy_namespace, listen_drops=5)).reading == 5
    overflow = sample(1.0, network={"ListenOverflows": 10})
    assert gate_of("listen_drops", evidence(last=overflow)).reading == 3


def evidence_of(world: World, name: str, trial: Evidence) -> Evidence:
    role = "control" if name in CONTROL_WORKS else "contender"
    instance = Instance(Contender(name, role, ("serve",)), "1", 80, "log", 0.0)
    return Evidence.of(world, instance, trial.spec, trial.result, trial.generator, trial.samples)


# One that has no trial before it.
FIRST = evidence(link=None, ceiling_per_s=None, clock_khz=[], clock_khz_max=None, workers_gone=None)


@pytest.mark.parametrize(
    ("contender", "judged"), [(NULL_SERVER, False), (REFERENCE, True), ("gin", True)]
)
def test_only_the_null_server_may_saturate_the_client(contender: str, judged: bool) -> None:
    host = FakeHost()
    collected = evidence_of(made_world(host, host), contender, FIRST)
    assert collected == replace(FIRST, probes_client=not judged)
    assert ("ceiling" in codes(replace(collected, ceiling_per_s=50_000.0))) == judged


def test_cpus_of_another_load_host_are_ignored() -> None:
    collected = evidence_of(made_world(FakeHost(), FakeHost()), "gin", FIRST)
    assert collected == replace(FIRST, cpus=(0,), beside=False)


def test_clock_is_read_from_the_servers_cpus() -> None:
    host = FakeHost()
    ticks = {0: (25, *(0,) * 7), 1: (25, *(0,) * 7)}
    inner = replace(sample(0.25), cpu_ticks=ticks, cpu_khz={0: 3_000_000, 1: 2_000_000})
    three = evidence(samples=(sample(0.0), inner, sample(1.0)))
    assert evidence_of(made_world(host, host), "gin", three).clock_khz == [3_000_000]


def test_one_tick_of_steal_in_half_a_second_passes() -> None:
    one_tick = sample(0.5, {"steal": 1})
    assert gate_of("steal", evidence(last=one_tick)).passed
    assert not gate_of("steal", evidence(last=sample(0.5, {"steal": 4}))).passed


def test_a_block_of_slices_bears_more_steal_than_a_trial() -> None:
    """It hits all contenders of the block alike."""
    part = evidence(last=sample(1.0, {"steal": 6}))
    assert not gate_of("steal", part).passed
    assert all(gate.passed for gate in judge_block(part))
    most = evidence(last=sample(1.0, {"steal": 20}))
    assert [gate.code for gate in judge_block(most) if not gate.passed] == ["steal"]


TRAFFIC = sample(1.0, {"user": 50, "system": 50, "irq": 10, "softirq": 40}, server_cpu_s=0.5)
BUSY = sample(1.0, {"user": 140}, server_cpu_s=0.5)
ALONE = sample(1.0, {"user": 50}, server_cpu_s=0.5)


@pytest.mark.parametrize(
    ("code", "trial", "reading"),
    [
        ("steal", evidence(last=sample(1.0, {"steal": 50}), cpus=(1,)), 0),  # of another CPU
        ("frequency", evidence(clock_khz=(2_700_000,), clock_khz_max=3_000_000.0), 0.1),
        ("frequency", evidence(clock_khz=(3_000_000,), clock_khz_max=2_700_000.0), 0),
        ("neighbor", evidence(last=TRAFFIC), 0),  # interrupts are no neighbor
        ("neighbor", evidence(last=BUSY), 0.2),  # of all our CPUs
        ("neighbor", evidence(last=ALONE, cpus=(0,), beside=False), 0),  # without the generator
    ],
)
def test_a_gate_reads_a_share(code: str, trial: Evidence, reading: float) -> None:
    gate = gate_of(code, trial)
    assert gate.reading == pytest.approx(reading)
    assert gate.passed is (reading == 0)


def test_a_quota_that_stopped_the_host_fails_its_gate_by_side() -> None:
    first, last = (replace(sample(at_s), throttled=n) for at_s, n in ((0.0, 3), (1.0, 5)))
    read = gate_of("throttled", evidence(samples=[first, last]))
    assert (read.passed, read.reading) == (False, 2)
    assert "stopped the server and the client" in read.advice
    apart = gate_of("throttled", evidence(samples=[first, last], beside=False))
    assert "stopped the server:" in apart.advice
    loads = judge_load_host(evidence(samples=[first, last], loads_only=True), True)
    (of_load_host,) = [gate for gate in loads if gate.code == "throttled"]
    assert of_load_host.advice.startswith("on the load host: a CPU quota")
    assert "stopped the client:" in of_load_host.advice
    assert gate_of("throttled", evidence(samples=[first, first])).passed
    unlimited = replace(first, throttled=None)
    assert "throttled" not in codes(evidence(samples=[unlimited, unlimited]))
