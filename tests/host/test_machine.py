import getpass
import json
import os
import socket
from pathlib import Path
from typing import cast

from deadheat.host import ProcessSpec
from deadheat.host.agent.program import Json
from deadheat.host.agent.samples import Watch, cpu_khz
from deadheat.host.agent.tree import Tree
from deadheat.host.agent_host import sample_from
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


def test_the_clock_of_a_sample_has_integer_keys() -> None:
    answer = {
        "at_s": 1.5,
        "cpu_ticks": {"3": [1] * 8},
        "cpu_khz": {"3": 3_100_000},
        "usage": {},
        "network": {},
        "pressure_cpu_us": None,
        "memory_available_bytes": 1,
    }
    assert sample_from(answer).cpu_khz == {3: 3_100_000}


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
    values = json.dumps(list(leaves(host.fingerprint().to_json())))
    for name in (socket.gethostname(), getpass.getuser(), str(Path.home())):
        assert f'"{name}"' not in values


def leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]
