import getpass
import json
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

import pytest

from deadheat.host import ProcessSpec, Sample
from deadheat.host.agent.program import Json
from deadheat.host.agent.quota import above, quota_of, throttled
from deadheat.host.agent.samples import Watch, cpu_khz
from deadheat.host.agent.tree import Tree
from deadheat.host.agent_host import sample_from
from deadheat.host.cpu_time import busy_khz, read_quietness
from deadheat.host.fake import FakeHost
from deadheat.host.fingerprint import Fingerprint
from deadheat.host.local import LocalHost
from tests.host.support import eventually, log, python


def test_a_watch_has_a_sample_at_both_ends(host: LocalHost) -> None:
    before_s = host.now_s()
    watch = host.watch([], interval_s=600)
    first, last = host.unwatch(watch)
    assert before_s <= first.at_s <= last.at_s <= host.now_s()


def test_a_watch_samples_the_machine_and_the_trees(host: LocalHost, tmp_path: Path) -> None:
    process = host.start(python("while True: pass"), log(tmp_path))
    watch = host.watch([process], interval_s=0.05)
    used_s = host.usage(process).cpu_s
    eventually(lambda: host.usage(process).cpu_s > used_s + 0.2)
    samples = host.unwatch(watch)
    first, last = samples[0], samples[-1]
    assert len(samples) > 2  # at least one between the ends
    assert last.usage[process].cpu_s > first.usage[process].cpu_s
    assert set(first.cpu_ticks) >= set(host.fingerprint().cpu.allowed)
    assert all(len(ticks) == 8 for ticks in last.cpu_ticks.values())
    ticks = [sum(t[0] + t[1] for t in of.cpu_ticks.values()) for of in (first, last)]  # user, nice
    assert ticks[1] > ticks[0]
    assert set(first.network) == {
        "ListenDrops",
        "ListenOverflows",
        "RetransSegs",
        "TCPTimeWaitOverflow",
        "ifInDiscards",
        "ifOutDiscards",
    }
    assert first.memory_available_bytes > 0


class UsedTree:
    """A fake tree with a fixed usage."""

    def usage(self, with_switches: bool = False) -> Json:
        return {"cpu_s": 1.0}


def test_usage_is_read_at_most_once_a_second_between_the_ends() -> None:
    watch = Watch({"1": cast(Tree, UsedTree())}, interval_s=0.01)
    eventually(lambda: len(watch.samples) > 10)
    first, *inner, last = watch.finish()
    assert first["usage"] == last["usage"] == {"1": {"cpu_s": 1.0}}
    without_usage = [sample for sample in inner if not sample["usage"]]
    assert without_usage
    assert all(sample["cpu_ticks"] for sample in without_usage)
    assert len(inner) - len(without_usage) <= last["at_s"] - first["at_s"]


def test_reads_the_clock_of_cpus_that_report_it(tmp_path: Path) -> None:
    for cpu, text in (("0", "3100000\n"), ("2", "<unknown>\n")):
        folder = tmp_path / f"cpu{cpu}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(text)
    assert cpu_khz(tmp_path, ["0", "1", "2"]) == {"0": 3_100_000}


def test_a_watch_leaves_out_a_stopped_tree(host: LocalHost, tmp_path: Path) -> None:
    process = host.start(ProcessSpec(["sleep", "600"]), log(tmp_path))
    watch = host.watch([process], interval_s=0.01)
    host.stop(process, "SIGTERM", 60)
    samples = host.unwatch(watch)
    assert process in samples[0].usage
    assert process not in samples[-1].usage


def test_the_fingerprint_describes_the_machine(host: LocalHost) -> None:
    fingerprint = host.fingerprint()
    assert fingerprint.cpu.logical == os.cpu_count()
    assert set(fingerprint.cpu.allowed) == os.sched_getaffinity(0)
    assert fingerprint.memory_total_bytes > 0
    assert fingerprint.kernel == os.uname().release
    assert int(fingerprint.sysctl["net.core.somaxconn"] or 0) > 0


def test_the_fingerprint_does_not_identify_machine_or_user(host: LocalHost) -> None:
    text = json.dumps(host.fingerprint().to_json())
    for name in (socket.gethostname(), getpass.getuser(), str(Path.home())):
        assert f'"{name}"' not in text


def watched(*readings: tuple[int, int]) -> list[Sample]:
    """Samples of CPU 0, 0.25 s apart, from its busy ticks since the last sample and its clock."""
    samples = []
    busy = 0
    for number, (ticks, khz) in enumerate(readings):
        busy += ticks
        at_s = 0.25 * number
        samples.append(Sample(at_s, {0: (busy, *(0,) * 7)}, {0: khz}, {}, {}, None, 0))
    return samples


def test_the_clock_is_that_of_a_busy_cpu_between_the_first_and_the_last_sample() -> None:
    samples = watched((0, 800), (12, 1200), (13, 3000), (25, 2900), (25, 900))
    assert busy_khz(samples, [0]) == [3000, 2900]
    assert busy_khz(samples, [1]) == [], "no such CPU"
    assert busy_khz([replace(sample, cpu_khz={}) for sample in samples], [0]) == []
    assert busy_khz(samples[:2], [0]) == []


class BusyHost(FakeHost):
    """Other processes use `others` of each CPU's time until `until_s`."""

    def __init__(self, others: float = 0.0, steal: float = 0.0, until_s: float = 1e9) -> None:
        super().__init__()
        self.others, self.steal, self.until_s = others, steal, until_s

    def sample(self, at_s: float, processes: Sequence[str]) -> Sample:
        ticks = 100 * min(at_s, self.until_s)
        row = (int(self.others * ticks), 0, 0, 0, 0, 0, 0, int(self.steal * ticks))
        return replace(super().sample(at_s, processes), cpu_ticks={0: row, 1: row})


def test_the_clock_of_a_sample_has_integer_keys() -> None:
    answer = asdict(watched((0, 800))[0]) | {"cpu_khz": {"3": 3_100_000}}
    assert sample_from(answer).cpu_khz == {3: 3_100_000}


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


def test_cpus_that_the_machine_does_not_show_have_no_reading() -> None:
    assert read_quietness(FakeHost(), (7,)) is None


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "20000 100000"}, 0.2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.cfs_quota_us": "150000", "cpu.cfs_period_us": "100000"}, 1.5),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        ({"cpu.max": "nonsense"}, None),
        ({}, None),
    ],
)
def test_reads_the_quota_of_both_kinds_of_cgroups(
    files: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    assert quota_of(tmp_path) == quota


def test_a_container_sees_only_some_parents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert above(tmp_path, "/a/b") == [tmp_path / "a", tmp_path]
    assert above(tmp_path, "/") == [tmp_path]


def test_counts_what_a_quota_stopped(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("nr_periods 10\nnr_throttled 7\n")
    assert throttled([tmp_path]) == 7
    assert throttled([]) is None


def test_a_fingerprint_without_a_quota_is_stored_as_before() -> None:
    fingerprint = FakeHost().fingerprint()
    assert "cpu_quota" not in fingerprint.to_json()
    limited = fingerprint.model_copy(update={"cpu_quota": 0.2})
    assert Fingerprint.model_validate(limited.to_json()) == limited
