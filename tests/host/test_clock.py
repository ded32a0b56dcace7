"""Which clock readings count as under load."""

from deadheat.host import Sample
from deadheat.host.cpu_time import busy_khz


def watched(*readings: tuple[int, int]) -> list[Sample]:
    """Samples of CPU 0, 0.25 s apart, from its busy ticks since the last sample and its clock."""
    samples = []
    busy = 0
    for number, (ticks, khz) in enumerate(readings):
        busy += ticks
        at_s = 0.25 * number
        samples.append(Sample(at_s, {0: (busy, *(0,) * 7)}, {0: khz}, {}, {}, None, 0))
    return samples


def test_leaves_out_the_first_and_last_sample() -> None:
    assert busy_khz(watched((0, 800), (25, 3000), (25, 2900), (25, 900)), [0]) == [3000, 2900]
    assert busy_khz(watched((0, 800), (25, 900)), [0]) == []


def test_leaves_out_the_clock_of_an_idle_cpu() -> None:
    assert busy_khz(watched((0, 800), (12, 1200), (13, 3000), (0, 800)), [0]) == [3000]


def test_is_empty_for_other_cpus_and_for_machines_without_a_clock() -> None:
    samples = watched((0, 800), (25, 3000), (0, 800))
    assert busy_khz(samples, [1]) == []
    without_clock = [Sample(s.at_s, s.cpu_ticks, {}, {}, {}, None, 0) for s in samples]
    assert busy_khz(without_clock, [0]) == []
