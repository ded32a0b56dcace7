"""The clock under load: which readings count."""

from deadheat.host import Sample
from deadheat.host.clock import busy_khz


def watched(*readings: tuple[int, int]) -> list[Sample]:
    """Samples of CPU 0, 0.25 s apart: its busy ticks since the sample before, and its clock."""
    samples = []
    busy = 0
    for number, (ticks, khz) in enumerate(readings):
        busy += ticks
        at_s = 0.25 * number
        samples.append(Sample(at_s, {0: (busy, *(0,) * 7)}, {0: khz}, {}, {}, None, 0))
    return samples


def test_the_ends_of_a_watch_are_outside_of_the_load() -> None:
    assert busy_khz(watched((0, 800), (25, 3000), (25, 2900), (25, 900)), [0]) == [3000, 2900]
    assert busy_khz(watched((0, 800), (25, 900)), [0]) == []


def test_the_clock_of_an_idle_cpu_says_nothing() -> None:
    assert busy_khz(watched((0, 800), (12, 1200), (13, 3000), (0, 800)), [0]) == [3000]


def test_other_cpus_and_machines_that_tell_no_clock_give_none() -> None:
    samples = watched((0, 800), (25, 3000), (0, 800))
    assert busy_khz(samples, [1]) == []
    mute = [Sample(s.at_s, s.cpu_ticks, {}, {}, {}, None, 0) for s in samples]
    assert busy_khz(mute, [0]) == []
