"""Several load processes or hosts in one slice: who is told what, when, and what is watched."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.errors import DeadheatError
from deadheat.host import Completed, HostError, ProcessSpec, Sample
from deadheat.host.fake import FakeHost
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.load.engine import SliceRequest
from deadheat.measure.load_process import close_load, load_once, load_slice, open_load, processes_on
from deadheat.measure.trial import LoadWatch
from deadheat.measure.world import LoadSide
from tests.measure.made_evidence import made_world

DOCUMENT = json.loads(
    (Path(__file__).parents[1] / "load" / "output" / "engine-closed.json").read_text()
)
SPEC = LoadSpec("http://10.0.0.1:8080/", connections=5, duration_s=0.08)
NEXT = {"slice": "waiting", "go": "going", None: "measured", "stop": "slice"}


class Lab:
    """A server host and load hosts, whose engines say what they hear in `heard`."""

    def __init__(self, folder: Path, hosts: int) -> None:
        self.heard: list[tuple[int, str | None]] = []
        self.answer: Callable[[int, str | None], None] = lambda _, __: None  # before an answer
        self.hosts = [FakeHost() for _ in range(hosts)]
        self._ids = [0] * hosts
        for number, host in enumerate(self.hosts):
            host.on_ask(lambda _: True, self._engine(number))
        engine = Engine("deadheat-load")
        loads = tuple(LoadSide(host, (0, 1), engine, folder) for host in self.hosts)
        self.world = made_world(FakeHost(), loads=loads, server_address="10.0.0.1")

    def _engine(self, number: int) -> Callable[[FakeHost, ProcessSpec, str | None], str]:
        def answer(host: FakeHost, spec: ProcessSpec, line: str | None) -> str:
            if line is None and not self._ids[number]:
                return json.dumps({"type": "ready", "schema": "deadheat-load/1"})
            said: dict[str, Any] = json.loads(line) if line else {"type": None}
            kind = said.get("type", "slice")
            self._ids[number] = said.get("id", self._ids[number])
            self.answer(number, kind)
            self.heard.append((number, kind))
            document = DOCUMENT if NEXT[kind] == "slice" else {}
            return json.dumps({**document, "type": NEXT[kind], "id": self._ids[number]})

        return answer

    def stopped(self) -> list[int]:
        return [len([call for call in host.calls if call[0] == "stop"]) for host in self.hosts]


def test_all_are_at_one_point_before_any_goes_on(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 3)
    load = open_load(lab.world, SPEC)
    load_slice(lab.world, load, SliceRequest(0.08))
    kinds = [kind for _, kind in lab.heard]
    assert kinds == ["slice"] * 3 + ["go"] * 3 + [None] * 3 + ["stop"] * 3
    assert all({n for n, kind in lab.heard if kind == point} == {0, 1, 2} for point in NEXT)


def test_each_host_has_its_part_and_the_result_is_their_sum(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 2)
    load = open_load(lab.world, SPEC)
    connections = []
    for host in lab.hosts:
        ((_, started),) = [call for call in host.calls if call[0] == "converse"]
        connections.append(started.command[started.command.index("-c") + 1])
    assert connections == ["3", "2"]
    result = load_slice(lab.world, load, SliceRequest(0.08))
    assert result.requests_ok == 2 * DOCUMENT["classes"]["ok"]
    assert [len(processes_on(host, [load, load])) for host in lab.hosts] == [1, 1]
    close_load(load)
    assert lab.stopped() == [1, 1]


def test_skew_is_from_the_first_word_to_the_last_answer(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 2)
    clock = lab.world.server_host

    def slow(number: int, kind: str | None) -> None:
        if kind == "go" and number == 1:
            clock.sleep(0.004)

    lab.answer = slow
    result = load_slice(lab.world, open_load(lab.world, SPEC), SliceRequest(0.08))
    assert result.skew_us == pytest.approx(4000)


def test_fewer_connections_than_hosts_leave_hosts_out(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 3)
    load_once(lab.world, replace(SPEC, connections=2))
    assert {number for number, _ in lab.heard} == {0, 1}
    assert lab.stopped() == [1, 1, 0]


@pytest.mark.parametrize("point", NEXT)
def test_no_host_loads_on_if_one_fails(tmp_path: Path, point: str | None) -> None:
    lab = Lab(tmp_path, 2)

    def fail(number: int, kind: str | None) -> None:
        if number == 1 and kind == point:
            raise HostError("the connection was lost")

    lab.answer = fail
    load = open_load(lab.world, SPEC)
    with pytest.raises(HostError, match="the connection was lost"):
        load_slice(lab.world, load, SliceRequest(0.08))
    assert lab.stopped() == [1, 1]


def test_a_host_whose_engine_cannot_start_leaves_none_behind(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 2)
    lab.hosts[1].on_ask(lambda _: True, lambda *_: json.dumps({"type": "ready"}))
    with pytest.raises(DeadheatError, match="schema"):
        open_load(lab.world, SPEC)
    assert lab.stopped() == [1, 1]


WATCHED = LoadSpec("http://10.0.0.1:8080/", connections=4, duration_s=1.0)
RESULT = LoadResult("engine", "0", 500.0, 500, 1.0, errors={}, service_us={})
TRIAL_S = 1.0


class LoadHost(FakeHost):
    """A load host whose CPU 1 is busy for a part of the time, and whose kernel sends again."""

    def __init__(self, busy_share: float = 0.0, steal_share: float = 0.0, resent: int = 0) -> None:
        super().__init__()
        self._shares = busy_share, steal_share
        self._resent = resent

    def sample(self, at_s: float, processes: Sequence[str]) -> Sample:
        user, steal = (int(100 * share * at_s) for share in self._shares)
        ticks = (user, 0, 0, 0, 0, 0, 0, steal)
        network = {"RetransSegs": int(at_s * self._resent)}
        return Sample(at_s, {0: (0,) * 8, 1: ticks}, {}, {}, network, None, 1 << 33)


def failed_gates(generator_cpu_s: float, *loads: LoadHost) -> dict[str, str]:
    """Gate -> advice, of those that fail in a trial of a second."""
    watch = LoadWatch(made_world(FakeHost(), *loads))
    for host in loads:
        host.sleep(TRIAL_S)
    done = Completed(0, "", "", TRIAL_S, generator_cpu_s)
    gates = watch.end().gates(WATCHED, RESULT, done)
    return {gate.code: gate.advice for gate in gates if not gate.passed}


def test_the_generator_is_no_neighbor_on_its_own_host() -> None:
    assert failed_gates(0.9, LoadHost(busy_share=0.9)) == {}


def test_another_process_on_the_load_host_fails_the_trial() -> None:
    failed = failed_gates(0.5, LoadHost(busy_share=0.9))
    assert [*failed] == ["neighbor"]
    assert failed["neighbor"].startswith("on the load host: ")


@pytest.mark.parametrize("number", [0, 1])
def test_bug_a_trial_watched_the_first_of_several_load_hosts(number: int) -> None:
    hosts = [LoadHost(), LoadHost()]
    hosts[number] = LoadHost(steal_share=0.2)
    assert [*failed_gates(0.0, *hosts)] == ["steal"]


def test_the_losses_of_all_load_hosts_add_up() -> None:
    hosts = LoadHost(resent=3), LoadHost(resent=4)
    watch = LoadWatch(made_world(FakeHost(), *hosts))
    for host in hosts:
        host.sleep(TRIAL_S)
    assert watch.end().network() == {"load_RetransSegs": 7}


def test_on_one_machine_there_is_none() -> None:
    host = LoadHost(steal_share=0.5)
    readings = LoadWatch(made_world(host)).end()
    assert (readings.network(), readings.gates(WATCHED, RESULT, Completed(0, "", "", 1, 0))) == (
        {},
        [],
    )
