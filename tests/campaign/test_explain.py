"""Explaining the contenders of a race: what is counted, stored, and left out."""

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.explain import thread_groups
from deadheat.catalog import find_root
from deadheat.host import Completed, HostError, ThreadTime
from deadheat.host.fake import FakeServer
from deadheat.protocol import SliceProtocol, amend, load_as
from tests.campaign.fake_world import FakeWorld
from tests.measure.test_tracing import SCRIPT, SUMMARY

UNTOLD = "allocations are left out: only Go, the JVM and Node.js tell them for free"


def protocol() -> SliceProtocol:
    shipped = load_as(find_root(None), "explain", SliceProtocol)
    return amend(shipped, {}, {"repetitions": 2, "invocations": 2})


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    fake = FakeWorld(tmp_path, quick=2000.0, slow=1000.0)
    attached = FakeServer(log=SUMMARY)
    fake.host.on_start(lambda command: command[0] in ("strace", "perf"), lambda *_: attached)
    script = Completed(0, SCRIPT, "", 0.1, 0.1)
    fake.host.on_run(lambda command: command[:2] == ["perf", "script"], lambda *_: script)
    return fake


def explained(fake: FakeWorld) -> dict[str, dict[str, Any]]:
    fake.conduct(protocol(), explain=True)
    return {
        trial["name"]: json.loads(trial["result"])["explained"]
        for trial in fake.trials()
        if trial["kind"] == "explain"
    }


def test_each_contender_is_explained_after_the_race(fake: FakeWorld) -> None:
    explanations = explained(fake)
    assert [*explanations] == ["quick", "slow"]
    assert [*explanations["quick"]["calls"]] == ["sendto", "poll", "rt_sigaction"]
    assert explanations["quick"]["left_out"] == [UNTOLD]
    assert [each["name"] for each in explanations["slow"]["threads"]] == ["worker-N"]
    kinds = [trial["kind"] for trial in fake.trials()]
    assert kinds.index("explain") > max(n for n, kind in enumerate(kinds) if kind == "measure")
    stacks = fake.rows("SELECT rows FROM series WHERE name = 'stacks'")
    assert [samples for _, samples in json.loads(zlib.decompress(stacks[0]["rows"]))] == [1, 1]
    assert fake.starts() == {"quick": 4, "slow": 4}, "two race, one is counted, one is sampled"


def test_perf_gets_an_instance_that_names_its_compiled_code(fake: FakeWorld) -> None:
    explained(fake)
    starts = [spec for method, spec in fake.host.calls if method == "start"]
    named = [spec.env.get("PYTHONPERFSUPPORT") for spec in starts if spec.limited]
    assert named.count("1") == 2
    tools = [spec.command[0] for spec in starts if not spec.limited]
    assert [*map(tools.count, ("strace", "perf"))] == [2, 2]


@pytest.mark.parametrize(
    ("traced", "allocated_bytes", "why"),
    [
        (8, 209_715.2, None),  # 40 MiB in 0.1 s, at 2,000 requests/s
        (4, None, "allocations are left out: fewer than 5 collections in 6 s of load"),
        (
            0,
            None,
            "allocations are left out: its log has no trace of Go's, Java's or Node.js's "
            "garbage collector",
        ),
    ],
)
def test_allocations_come_from_an_instance_that_only_traces(
    fake: FakeWorld, traced: int, allocated_bytes: float | None, why: str | None
) -> None:
    fake.rewrite("quick", 'language = "None"', 'language = "Go"')
    fake.noise = 0.0

    def trace(_: str, request: dict[str, Any]) -> None:
        """One collection before the load, and all others in it, 0.1 s apart."""
        for process in fake.host.processes.values():
            if "gctrace=1" in process.spec.env.get("GODEBUG", "") and traced:
                numbers = range(1, traced + 2 if request["duration_s"] > 1 else 2)
                line = "gc {0} @{1:.1f}s 1%: 0 ms, 40->40->0 MB, 40 MB goal\n"
                log = "".join(line.format(n, n / 10) for n in numbers)
                process.server = replace(process.server, log=log)

    fake.before_slice = trace
    explanation = explained(fake)["quick"]
    assert explanation["allocated_bytes"] == allocated_bytes
    assert explanation["left_out"] == ([why] if why else [])
    traces = [spec.env.get("GOGC") for method, spec in fake.host.calls if method == "start"]
    assert traces.count("800") == 1, "no instance of the race traces"


def test_without_tools_the_rest_is_explained_all_the_same(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, quick=2000.0, slow=1000.0)
    fake.host.on_run(
        lambda command: command[0] in ("strace", "perf"),
        lambda *_: (_ for _ in ()).throw(HostError("no such program")),
    )
    explanations = explained(fake)
    assert explanations["quick"]["calls"] is None, "unknown, not 0"
    assert explanations["quick"]["threads"]
    assert explanations["quick"]["left_out"] == [
        "system calls are left out: strace is missing; to install it: apt-get install strace",
        UNTOLD,
        "a flame graph is left out: perf is missing; to install it: apt-get install linux-perf "
        "(Debian) or linux-tools-generic (Ubuntu)",
    ]


def test_threads_of_one_name_are_one_group_and_idle_ones_are_left_out() -> None:
    before = [ThreadTime(1, 1, "pool-1", 1.0), ThreadTime(1, 2, "pool-2", 2.0)]
    idle = ThreadTime(1, 3, "idle", 7.0)
    after = [ThreadTime(1, 1, "pool-1", 1.5), ThreadTime(1, 2, "pool-2", 2.25), idle]
    fresh = ThreadTime(1, 4, "GC", 0.5)
    groups = thread_groups([*before, idle], [*after, fresh], 1000)
    assert [(g.name, g.threads, g.us_per_request) for g in groups] == [
        ("pool-N", 2, 750.0),
        ("GC", 1, 500.0),
    ]
    assert thread_groups(before, after, 0) == ()
