"""Gates of the machine: steal, other processes and the clock, and which CPUs they read."""

from dataclasses import replace

import pytest

from deadheat.host.fake import FakeHost
from deadheat.measure.contender import CONTROL_WORKS, NULL_SERVER, REFERENCE, Contender, Instance
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import judge_block, judge_load_host
from deadheat.measure.world import World
from tests.measure.made_evidence import codes, evidence, gate_of, made_world, sample


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
