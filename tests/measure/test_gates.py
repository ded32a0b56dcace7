"""Gates: what each accuses, what it cannot resolve and so lets pass, and what it cannot read."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.host import Completed, Sample, Usage
from deadheat.host.fake import FakeHost
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.measure.contender import NULL_SERVER, REFERENCE, Contender
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import GATES, judge, steady_gate
from deadheat.measure.world import World
from deadheat.store import Gate

CODES = {gate.__name__ for gate in GATES}
OPEN_LOOP_ONLY = {"achieved", "send_lag"}
CLOSED_LOOP_ONLY = {"little_law", "frequency"}


def sample(
    at_s: float,
    ticks: Mapping[str, int] | None = None,
    server_cpu_s: float = 0.0,
    network: Mapping[str, int] | None = None,
) -> Sample:
    """A sample of two CPUs; `ticks` are CPU 0's."""
    fields = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    busy = tuple((ticks or {}).get(field, 0) for field in fields)
    counters = dict.fromkeys(("ListenDrops", "ListenOverflows", "RetransSegs"), 7)
    return Sample(
        at_s=at_s,
        cpu_ticks={0: busy, 1: (0,) * 8},
        cpu_khz={},
        usage={"1": Usage(server_cpu_s, 0, 0, 1, 1)},
        network=counters | dict(network or {}),
        pressure_cpu_us=None,
        memory_available_bytes=1 << 33,
    )


def evidence(
    result: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    last: Sample | None = None,
    **others: Any,
) -> Evidence:
    """A trial of one second at 10 connections that nothing is wrong with, but for what is given."""
    good: dict[str, Any] = {
        "generator": "engine",
        "version": "1",
        "rate_per_s": 10_000.0,
        "requests_ok": 10_000,
        "elapsed_s": 1.0,
        "errors": {},
        "service_us": {"mean": 1000.0, "p50": 900.0},
        "connections_established": 10,
        "connections_served": 10,
        "busiest_thread_share": 0.5,
        "run_wait_share": 0.001,
        "little_law_error": -0.002,
    }
    asked: dict[str, Any] = {"url": "http://127.0.0.1/", "connections": 10, "duration_s": 1.0}
    given: dict[str, Any] = {
        "generator": Completed(0, "", "", elapsed_s=1.0, cpu_s=0.5),
        "samples": (sample(0.0), last or sample(1.0, {"user": 100}, server_cpu_s=0.5)),
        "cpus": (0, 1),
        "ceiling_per_s": 50_000.0,
        "clock_khz": (2_990_000, 3_000_000, 800_000),
        "clock_khz_max": 3_100_000.0,
    }
    return Evidence(
        LoadSpec(**asked | dict(spec or {})),
        LoadResult(**good | dict(result or {})),
        **given | others,
    )


def open_loop(late: int = 0, **result: Any) -> Evidence:
    """10,000 requests/s offered for a second, of which `late` are answered after it."""
    rows = [{"at_s": n / 10, "ok": 1000 - late // 10} for n in range(1, 11)]
    told = {
        "service_us": {"mean": 100.0},
        "response_us": {"p50": 120.0},
        "offered_rate_per_s": 10_000.0,
        "client_lag_us_p99": 50.0,
        "series": [*rows, {"at_s": 1.1, "ok": late}],
    }
    return evidence(told | result, {"rate_per_s": 10_000.0})


def the(code: str, of: Evidence) -> Gate:
    return next(gate for gate in judge(of) if gate.code == code)


def codes(of: Evidence) -> set[str]:
    return {gate.code for gate in judge(of)}


def test_a_good_trial_passes_every_gate_that_a_closed_loop_has() -> None:
    judged = judge(evidence())
    assert {gate.code for gate in judged} == CODES - OPEN_LOOP_ONLY
    assert all(gate.passed and gate.advice == "" for gate in judged)


def test_a_good_open_loop_passes_every_gate_but_those_of_a_closed_one() -> None:
    judged = judge(open_loop())
    assert {gate.code for gate in judged} == CODES - CLOSED_LOOP_ONLY
    assert all(gate.passed for gate in judged)


@pytest.mark.parametrize(
    ("code", "bad"),
    [
        ("errors", evidence({"errors": {"reset_mid": 1}})),
        ("served", evidence({"connections_served": 9})),
        ("client_limits", evidence({"limits": [{"code": "client_resources", "reading": 3.0}]})),
        ("little_law", evidence({"little_law_error": -0.1})),
        ("little_law", evidence({"little_law_error": 0.1})),
        ("client_cpu", evidence({"busiest_thread_share": 0.81})),
        ("client_wait", evidence({"run_wait_share": 0.06})),
        ("ceiling", evidence(ceiling_per_s=14_000.0)),
        ("steal", evidence(last=sample(1.0, {"steal": 5}))),
        ("neighbor", evidence(last=sample(1.0, {"user": 100, "system": 20}, server_cpu_s=0.5))),
        ("frequency", evidence(clock_khz=(2_900_000, 3_000_000), clock_khz_max=3_110_000.0)),
        ("listen_drops", evidence(last=sample(1.0, network={"ListenDrops": 8}))),
        ("retransmits", evidence(last=sample(1.0, network={"RetransSegs": 9}))),
        ("achieved", open_loop(late=200)),
        ("send_lag", open_loop(client_lag_us_p99=101.0)),
    ],
)
def test_each_gate_fails_on_its_fault_alone(code: str, bad: Evidence) -> None:
    failed = [gate for gate in judge(bad) if not gate.passed]
    assert [gate.code for gate in failed] == [code]
    assert failed[0].advice
    assert failed[0].reading != failed[0].threshold


def test_every_gate_is_listed_under_its_own_name() -> None:
    both = [evidence(), open_loop()]
    for gate in GATES:
        codes_read = {read.code for one in both if (read := gate(one)) is not None}
        assert codes_read == {gate.__name__}


def test_a_reading_has_a_unit_and_a_gate_without_one_has_none() -> None:
    assert all(gate.unit for one in (evidence(), open_loop()) for gate in judge(one))
    steady = steady_gate("flat")
    assert steady is not None
    assert steady.unit is None


def test_errors_name_their_classes_the_most_frequent_first() -> None:
    gate = the("errors", evidence({"errors": {"status": 2, "eof_mid_body": 40}}))
    assert gate.reading == 42
    assert gate.advice == "40 eof_mid_body, 2 status"


def test_read_errors_of_wrk_are_errors_and_the_advice_says_what_else_they_may_be() -> None:
    told = {"generator": "wrk", "errors": {"read": 1143}}
    assert "right answer" in the("errors", evidence(told)).advice
    assert "right answer" not in the("errors", evidence({"errors": {"reset_mid": 1}})).advice


def test_what_a_generator_does_not_tell_is_left_out_not_passed() -> None:
    told = {
        "generator": "wrk",
        "connections_served": None,
        "busiest_thread_share": None,
        "run_wait_share": None,
        "little_law_error": None,
    }
    left_out = {"served", "client_limits", "client_wait", "little_law"} | OPEN_LOOP_ONLY
    assert codes(evidence(told)) == CODES - left_out
    assert "client_cpu" not in codes(evidence(told, {"threads": 2}))


def test_a_single_thread_that_is_not_told_of_is_read_from_outside() -> None:
    told = {"generator": "ab", "busiest_thread_share": None}
    process = Completed(0, "", "", elapsed_s=2.0, cpu_s=1.8)
    assert the("client_cpu", evidence(told, generator=process)).reading == pytest.approx(0.9)


def test_the_engines_own_limits_are_judged_by_a_campaigns_thresholds() -> None:
    limits = [{"code": "little_law", "reading": 0.04}, {"code": "steal", "reading": 0.02}]
    told = {"limits": limits, "little_law_error": 0.04, "run_wait_share": 0.03}
    assert all(gate.passed for gate in judge(evidence(told)))


def test_no_ceiling_and_no_samples_of_our_cpus_is_no_reading() -> None:
    assert "ceiling" not in codes(evidence(ceiling_per_s=None))
    assert codes(evidence(cpus=(9,))).isdisjoint({"steal", "neighbor"})


def test_kernel_counters_that_are_missing_are_no_reading() -> None:
    bare = replace(sample(1.0), network={})
    assert codes(evidence(last=bare)).isdisjoint({"listen_drops", "retransmits"})


def test_the_null_server_is_not_accused_of_finding_the_clients_limit() -> None:
    at_limit = evidence({"busiest_thread_share": 1.0}, ceiling_per_s=10_000.0, probes_client=True)
    assert codes(at_limit).isdisjoint({"client_cpu", "ceiling"})


def seen_in(world: World, contender: str, one: Evidence) -> Evidence:
    return Evidence.of(
        world,
        Contender(contender, "contender", ("serve",)),
        one.spec,
        one.result,
        one.generator,
        one.samples,
        one.ceiling_per_s,
        one.clock_khz_max,
    )


def world_on(server_host: FakeHost, load_host: FakeHost) -> World:
    engine = Engine("engine")
    return World(server_host, load_host, (0,), (1,), engine, "1", engine, "1", Path("logs"))


@pytest.mark.parametrize(
    ("contender", "judged"), [(NULL_SERVER, False), (REFERENCE, True), ("gin", True)]
)
def test_only_the_null_server_may_saturate_the_client(contender: str, judged: bool) -> None:
    host = FakeHost()
    seen = seen_in(world_on(host, host), contender, evidence())
    assert seen == replace(evidence(), probes_client=not judged, clock_khz=[])
    assert ("ceiling" in codes(seen)) == judged


def test_the_cpus_of_another_load_host_are_not_the_servers() -> None:
    seen = seen_in(world_on(FakeHost(), FakeHost()), "gin", evidence())
    assert seen == replace(evidence(), cpus=(0,), beside=False, clock_khz=[])


def test_the_clock_is_that_of_the_servers_cpus() -> None:
    host = FakeHost()
    ticks = {0: (25, *(0,) * 7), 1: (25, *(0,) * 7)}
    inner = replace(sample(0.25), cpu_ticks=ticks, cpu_khz={0: 3_000_000, 1: 2_000_000})
    three = evidence(samples=(sample(0.0), inner, sample(1.0)))
    assert seen_in(world_on(host, host), "gin", three).clock_khz == [3_000_000]


def test_little_law_allows_one_service_time_at_the_edges() -> None:
    slow = {"rate_per_s": 40.0, "service_us": {"mean": 200_000.0}, "little_law_error": 0.2}
    assert the("little_law", evidence(slow)).passed
    starved = slow | {"little_law_error": -0.3}
    assert not the("little_law", evidence(starved)).passed


def test_a_tick_of_steal_in_half_a_second_is_resolution_not_steal() -> None:
    one = sample(0.5, {"steal": 1})
    assert the("steal", evidence(last=one)).passed
    assert not the("steal", evidence(last=sample(0.5, {"steal": 4}))).passed


def test_steal_of_cpus_that_are_not_ours_is_not_ours() -> None:
    assert the("steal", evidence(last=sample(1.0, {"steal": 50}), cpus=(1,))).reading == 0


def test_a_clock_that_is_not_read_or_compared_with_nothing_is_no_reading() -> None:
    assert "frequency" not in codes(evidence(clock_khz=()))
    assert "frequency" not in codes(evidence(clock_khz_max=None))


def test_the_reading_of_a_clock_is_its_drop() -> None:
    dropped = the("frequency", evidence(clock_khz=(2_700_000,), clock_khz_max=3_000_000.0))
    assert dropped.reading == pytest.approx(0.1)
    risen = the("frequency", evidence(clock_khz=(3_000_000,), clock_khz_max=2_700_000.0))
    assert (risen.reading, risen.passed) == (0, True)


def test_interrupt_time_is_the_traffics_own() -> None:
    traffic = sample(1.0, {"user": 50, "system": 50, "irq": 10, "softirq": 40}, server_cpu_s=0.5)
    assert the("neighbor", evidence(last=traffic)).reading == 0


def test_a_neighbours_share_is_of_all_our_cpus() -> None:
    busy = sample(1.0, {"user": 140}, server_cpu_s=0.5)
    assert the("neighbor", evidence(last=busy)).reading == pytest.approx(0.2)


def test_a_generator_on_another_host_uses_none_of_the_servers_cpus() -> None:
    alone = sample(1.0, {"user": 50}, server_cpu_s=0.5)
    assert the("neighbor", evidence(last=alone, cpus=(0,), beside=False)).reading == 0


def test_a_server_that_was_not_seen_at_both_ends_leaves_its_neighbours_unread() -> None:
    assert "neighbor" not in codes(evidence(last=replace(sample(1.0), usage={})))


def test_one_retransmitted_segment_is_no_reason_for_doubt() -> None:
    one = sample(1.0, network={"RetransSegs": 8})
    assert the("retransmits", evidence({"requests_ok": 300}, last=one)).passed


def test_listen_overflows_are_drops_too() -> None:
    overflow = sample(1.0, network={"ListenOverflows": 10})
    assert the("listen_drops", evidence(last=overflow)).reading == 3


def test_answers_after_the_window_are_not_achieved_though_the_rate_counts_them() -> None:
    gate = the("achieved", open_loop(late=500, rate_per_s=10_000.0))
    assert gate.reading == pytest.approx(0.95)
    assert not gate.passed


def test_requests_under_way_as_the_window_ends_are_no_shortfall() -> None:
    slow_and_steady = open_loop(late=1000, service_us={"mean": 100_000.0})
    assert the("achieved", slow_and_steady).passed


def test_send_lag_is_judged_beside_the_response_time() -> None:
    assert the("send_lag", open_loop(client_lag_us_p99=400.0, response_us={"p50": 10_000.0})).passed


def test_an_open_loop_with_few_requests_has_no_use_for_every_connection() -> None:
    few = {"requests_ok": 4, "connections_served": 4}
    assert the("served", evidence(few, {"rate_per_s": 4.0})).passed
    assert not the("served", evidence(few)).passed


@pytest.mark.parametrize("kind", ["flat", "warm-up", "slowdown"])
def test_a_start_that_ends_steady_passes(kind: str) -> None:
    gate = steady_gate(kind)
    assert gate is not None
    assert gate.passed


def test_a_start_that_never_is_steady_fails_and_one_unsought_has_no_gate() -> None:
    gate = steady_gate("none")
    assert gate is not None
    assert not gate.passed
    assert gate.advice
    assert steady_gate("unsought") is None
