"""The load hosts during a trial, on a virtual clock."""

from collections.abc import Sequence

import pytest

from deadheat.host import Completed, Sample
from deadheat.host.fake import FakeHost
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure.trial import LoadWatch
from tests.measure.made_evidence import made_world

SPEC = LoadSpec("http://10.0.0.1:8080/", connections=4, duration_s=1.0)
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
    gates = watch.end().gates(SPEC, RESULT, done)
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
    assert (readings.network(), readings.gates(SPEC, RESULT, Completed(0, "", "", 1, 0))) == (
        {},
        [],
    )
