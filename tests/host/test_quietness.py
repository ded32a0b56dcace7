"""How quiet a machine is."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from deadheat.host import Sample
from deadheat.host.cpu_time import READING_S, read_quietness
from deadheat.host.fake import FakeHost


class BusyHost(FakeHost):
    """Other processes use `others` of each CPU's time until `until_s`."""

    def __init__(self, others: float = 0.0, steal: float = 0.0, until_s: float = 1e9) -> None:
        super().__init__()
        self.others, self.steal, self.until_s = others, steal, until_s

    def sample(self, at_s: float, processes: Sequence[str]) -> Sample:
        ticks = 100 * min(at_s, self.until_s)
        row = (int(self.others * ticks), 0, 0, 0, 0, 0, 0, int(self.steal * ticks))
        return replace(super().sample(at_s, processes), cpu_ticks={0: row, 1: row})


def test_an_idle_machine_is_quiet() -> None:
    reading = read_quietness(FakeHost(), (0, 1))
    assert reading is not None
    assert not reading.busy
    assert str(reading).startswith("the machine is quiet: other processes use 0 % of these CPUs")


@pytest.mark.parametrize(("others", "steal"), [(0.3, 0.0), (0.0, 0.1)])
def test_a_machine_whose_cpus_others_use_is_busy(others: float, steal: float) -> None:
    reading = read_quietness(BusyHost(others, steal), (0, 1))
    assert reading is not None
    assert reading.busy
    assert reading.others_share == pytest.approx(others, abs=0.02)
    assert reading.steal_share == pytest.approx(steal, abs=0.02)


def test_a_reading_takes_about_a_second() -> None:
    host = FakeHost()
    read_quietness(host, (0,))
    assert host.now_s() == READING_S


def test_cpus_that_the_machine_does_not_show_have_no_reading() -> None:
    assert read_quietness(FakeHost(), (7,)) is None
