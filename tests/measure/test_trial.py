"""Trials of real servers, of which some die under load."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.host import Usage
from deadheat.host.fake import FINGERPRINT
from deadheat.host.fingerprint import Fingerprint
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, Instance
from deadheat.measure.trial import TrialContext, load_spec, measure, per_request_figures
from deadheat.measure.verify import BODY
from deadheat.measure.world import World, split_cpus
from deadheat.protocol import Protocol, load_protocol
from deadheat.store import TrialRecord
from deadheat.store.json_columns import PerRequest
from deadheat.workload import load_workload
from tests.servers.contenders import CATALOG, contender

ROOT = Path(__file__).parents[2]
SLOT = TrialContext(
    "run", 1, 1, "measure", invocation=2, block=3, heat=1, at_s=4.5, steady="unsought"
)


@pytest.fixture
def protocol() -> Protocol:
    return load_protocol(CATALOG, "brief")


def trial(world: World, loaded: Contender, protocol: Protocol) -> TrialRecord:
    instance = lifecycle.start(world, loaded)
    try:
        return measure(world, instance, load_spec(protocol, instance, 2), SLOT, None)
    finally:
        lifecycle.stop(world, instance)


def test_a_good_trial_is_kept_whole(world: World, protocol: Protocol) -> None:
    record = trial(world, contender("hello"), protocol)
    assert (record.state, record.reason, record.errors) == ("ok", None, {})
    assert (record.invocation, record.block, record.at_s) == (2, 3, 4.5)
    assert record.requests_ok is not None
    assert record.requests_ok > 0
    assert record.elapsed_s is not None
    assert record.rate_per_s == pytest.approx(record.requests_ok / record.elapsed_s)
    assert record.server_cpu_us_per_request is not None
    assert record.server_cpu_us_per_request > 0
    assert record.memory_peak_bytes is not None
    assert record.memory_peak_bytes > 0
    assert (record.processes, record.connections) == (1, 2)
    assert record.stdout.startswith('{"schema":')
    assert "service_us" in record.histograms
    assert len(record.series["machine"]) >= 2
    assert record.series["load"]
    assert "errors" in {gate.code for gate in record.gates}
    parts = record.figures.per_request
    assert parts is not None
    assert parts.user_us is not None
    assert parts.system_us is not None
    assert parts.user_us + parts.system_us == pytest.approx(record.server_cpu_us_per_request)
    assert all(getattr(parts, each.name) is not None for each in fields(PerRequest))
    assert parts.data_packets_in is not None
    assert parts.packets_in is not None
    assert parts.packets_in >= parts.data_packets_in >= 1
    assert parts.bytes_in is not None
    assert parts.bytes_in > len(BODY)


def test_what_was_not_counted_is_left_out_and_not_zero() -> None:
    result = LoadResult("wrk", "4", 100.0, 100, 1.0, {}, {}, bytes_in=5000)
    assert per_request_figures((None, None), result) == {}
    fell = Usage(2.0, 0, 0, 1, 1, 1.0, 1.0, page_faults=3)
    later = replace(fell, user_s=1.5, page_faults=1)
    assert per_request_figures((fell, later), result) == {
        "per_request": {"user_us": 5000.0, "system_us": 0.0}
    }, "page faults of a process that ended are unknown"


def test_a_server_that_dies_under_load_is_a_failed_trial(world: World, protocol: Protocol) -> None:
    """It has a second for its twelve answers: on a busy machine, 0.1 s was too short for them."""
    record = trial(
        world, contender("dies-mid-trial"), protocol.model_copy(update={"duration_s": 1.0})
    )
    assert record.state == "failed"
    assert record.reason == "dies-mid-trial died under load (exit 7)\nout of memory"
    assert record.gates == []
    assert record.command[1].startswith("http://127.0.0.1:")
    assert record.stdout  # what the engine saw of it stays


def test_a_server_that_answers_wrongly_later_fails_a_gate(world: World, protocol: Protocol) -> None:
    """It was right when it got ready; what it says under load is still compared."""
    wrong = replace(contender("wrong-body"), any_body=True, ready_s=30)
    instance = lifecycle.start(world, wrong)
    try:
        spec = replace(load_spec(protocol, instance, 2), expect_body="Hello, World!")
        record = measure(world, instance, spec, SLOT, None)
    finally:
        lifecycle.stop(world, instance)
    assert record.state == "failed"
    assert record.reason is not None
    assert "the first request failed" in record.reason


class Printing(Engine):
    """A load generator that is any command."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__("deadheat-load")
        self._printing = list(command)

    def command(self, spec: LoadSpec) -> list[str]:
        return self._printing


@pytest.mark.parametrize(
    ("command", "limit_s", "reason"),
    [
        (["sh", "-c", "echo bad flag >&2; exit 2"], 10, "ended with 2 and printed no result (bad"),
        (["/nowhere/generator"], 10, "/nowhere/generator"),
        (["sleep", "60"], 0.2, "engine did not end within"),
    ],
)
def test_a_generator_that_fails_is_a_failed_trial(
    world: World,
    protocol: Protocol,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    limit_s: float,
    reason: str,
) -> None:
    monkeypatch.setattr(LoadSpec, "limit_s", limit_s)
    record = trial(replace(world, generator=Printing(command)), contender("hello"), protocol)
    assert record.state == "failed"
    assert record.reason is not None
    assert reason in record.reason
    assert record.rate_per_s is None


class Terminated(Engine):
    """Our engine, which gets SIGTERM after half a second."""

    def command(self, spec: LoadSpec) -> list[str]:
        return ["timeout", "--signal=TERM", "0.5", *super().command(spec)]


def test_an_engine_that_sigterm_ends_early_is_a_failed_trial(
    world: World, protocol: Protocol
) -> None:
    longer = protocol.model_copy(update={"duration_s": 20.0})
    record = trial(replace(world, generator=Terminated()), contender("hello"), longer)
    assert record.state == "failed"
    assert record.reason is not None
    assert "engine was interrupted after" in record.reason
    assert record.rate_per_s is None
    assert record.stdout  # the part that was measured


def test_the_users_own_body_is_not_ours_to_expect(world: World, protocol: Protocol) -> None:
    own = Instance(Contender("own", "contender", ("own",), any_body=True), "1", 80, "log", 0.1)
    assert load_spec(protocol, own, 5).expect_body is None
    ours = replace(own, contender=contender("hello"))
    assert load_spec(protocol, ours, 5).expect_body == "Hello, World!"


def test_a_workload_may_open_a_connection_for_each_request(protocol: Protocol) -> None:
    ours = Instance(contender("hello"), "1", 80, "log", 0.1)
    assert ours.contender.answers("connect"), "as every server"
    workloads = tuple(load_workload(ROOT, name) for name in ("hello", "connect"))
    beside = protocol.model_copy(update={"workloads": workloads})
    kept = {name: load_spec(beside, ours, 5, name).keep_alive for name in beside.workload_names}
    assert kept == {"hello": True, "connect": False}
    assert [beside.only(name).keep_alive for name in beside.workload_names] == [True, False]


def test_the_limit_of_a_trial_leaves_time_for_its_timeouts() -> None:
    spec = LoadSpec("http://127.0.0.1/", 10, duration_s=4, discard_s=1, timeout_s=5)
    assert spec.limit_s > 4 + 1 + 2 * 5


def with_cpus(*allowed: int) -> Fingerprint:
    cpu = FINGERPRINT.cpu.model_copy(update={"allowed": allowed})
    return FINGERPRINT.model_copy(update={"cpu": cpu})


def test_server_and_client_get_disjoint_cpus() -> None:
    fingerprint = with_cpus(0, 2, 3, 7)
    assert split_cpus(fingerprint, 1) == ([0, 2, 3], [7])
    assert split_cpus(fingerprint, 3) == ([0], [2, 3, 7])
    with pytest.raises(DeadheatError, match="--load-threads 4: 4 CPUs here") as caught:
        split_cpus(fingerprint, 4)
    assert caught.value.hint == "use at most 3"
    with pytest.raises(DeadheatError, match="1 CPU: expected two"):
        split_cpus(with_cpus(5), 1)
