"""Explaining the contenders of a race: what is counted, also by garbage collectors."""

import json
import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.allocations import TRACES, allocated_per_s, read_traces
from deadheat.campaign.explain import thread_groups
from deadheat.catalog import find_root
from deadheat.errors import DeadheatError
from deadheat.events import Progress
from deadheat.host import Completed, HostError, ProcessSpec, ThreadTime
from deadheat.host.fake import FakeHost, FakeServer
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


def test_bug_an_interrupted_explanation_could_not_go_on(fake: FakeWorld) -> None:
    def counts(*_: object) -> bool:
        said = [event.what for event in fake.events if isinstance(event, Progress)]
        return any("counting what slow does" in what for what in said)

    with fake.interrupted(counts):
        run_id = fake.conduct(protocol(), explain=True, command=["deadheat", "explain"])
    assert fake.troubles()[-1].endswith(" goes on")
    raced = [trial for trial in fake.trials() if trial["kind"] == "measure"]
    fake.resume(run_id, explain=True)
    names = [trial["name"] for trial in fake.trials() if trial["kind"] == "explain"]
    assert names == ["quick", "slow"]
    assert [trial for trial in fake.trials() if trial["kind"] == "measure"] == raced


def test_bug_a_contender_that_did_not_start_for_a_tool_was_said_not_to_have_run(
    fake: FakeWorld,
) -> None:
    def start(_: FakeHost, spec: ProcessSpec) -> FakeServer:
        breaks = "PYTHONPERFSUPPORT" in spec.env
        return FakeServer(dies_after_s=0.0, exit_code=1) if breaks else fake.servers["slow"]

    fake.host.on_start(lambda command: command[0] == "slow", start)
    assert "a flame graph is left out: it did not start" in explained(fake)["slow"]["left_out"][-1]
    assert fake.rows("SELECT fault FROM contender WHERE name = 'slow'") == [{"fault": None}]
    assert fake.rows("SELECT 1 FROM instance WHERE fault LIKE 'slow ended%'")


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


MIB = 1 << 20
GO = """\
gc 1 @0.029s 0%: 0.18+0.15+0.004 ms clock, 0.37+0/0.13/0.087+0.008 ms cpu, 30->31->7 MB, 32 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 2 @0.107s 0%: 0.028+0.22+0.003 ms clock, 0.056+0.12/0.043/0+0.007 ms cpu, 65->66->7 MB, 68 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 3 @0.197s 0%: 0.030+0.92+0.004 ms clock, 0.061+0.082/0.045/0+0.009 ms cpu, 63->64->7 MB, 66 MB goal, 0 MB stacks, 0 MB globals, 2 P
"""  # noqa: E501
JDK_17 = """\
[0.007s][21814] Using G1
[0.580s][21814] GC(10) Pause Young (Concurrent Start) (G1 Preventive Collection) 55M->34M(64M) 1.154ms
[0.580s][21814] GC(11) Concurrent Mark Cycle
[0.583s][21814] GC(11) Pause Remark 43M->19M(64M) 0.281ms
[0.584s][21814] GC(11) Pause Cleanup 23M->23M(64M) 0.034ms
[0.585s][21814] GC(11) Concurrent Mark Cycle 5.403ms
[0.594s][21814] GC(12) Pause Young (Normal) (G1 Evacuation Pause) 38M->13M(64M) 1.780ms
"""  # noqa: E501
JDK_25 = """\
[0.282s][21933] GC(11) Pause Young (Allocation Failure) 64M->41M(374M) 7.121ms
[0.301s][21933] GC(12) Pause Young (Allocation Failure) 67M->44M(374M) 11.224ms
[0.312s][21933] GC(13) Pause Young (Allocation Failure) 70M->48M(374M) 3.194ms
"""
NODE_20 = """\
deadheat-heap 25368.0 287.903394 8725616
deadheat-heap 25368.0 332.170845 15068848
"""


@pytest.mark.parametrize(
    ("log", "process", "at_s", "allocated_mib"),
    [
        (GO, "Go", [0.029, 0.107, 0.197], [0, 59, 116]),
        (JDK_17, "JVM 21814", [0.58, 0.583, 0.584, 0.594], [0, 9, 13, 28]),
        (JDK_25, "JVM 21933", [0.282, 0.301, 0.312], [0, 26, 52]),
        (NODE_20, "Node.js 25368.0", [0.287903394, 0.332170845], [0, 6343232 / MIB]),
    ],
)
def test_a_trace_has_what_was_allocated_between_collections(
    log: str, process: str, at_s: list[float], allocated_mib: list[float]
) -> None:
    readings = read_traces("listening on port 80\n" + log + "gc 12 @")
    assert {reading.process for reading in readings} == {process}
    assert [reading.at_s for reading in readings] == at_s
    first = readings[0].allocated_bytes
    assert [(r.allocated_bytes - first) / MIB for r in readings] == pytest.approx(allocated_mib)


def go_lines(*collections: tuple[int, float, str]) -> str:
    return "".join(
        f"gc {n} @{at_s}s 1%: 0 ms, {heap} MB, 40 MB goal\n" for n, at_s, heap in collections
    )


def test_what_go_allocates_while_it_marks_counts() -> None:
    """36 MB at the end of marking of which 6 came since its begin, and 8 live: 6 + 30 - 8."""
    first, second = read_traces(go_lines((1, 1.0, "30->36->8"), (2, 2.0, "30->36->8")))
    assert second.allocated_bytes - first.allocated_bytes == 28 * MIB


def test_only_readings_within_the_load_count_and_five_are_needed() -> None:
    lines = [(n, n / 10, "40->40->0") for n in range(1, 9)]
    before, after = read_traces(go_lines(*lines[:3])), read_traces(go_lines(*lines))
    assert allocated_per_s(before, after) == pytest.approx(400 * MIB)
    assert allocated_per_s(read_traces(go_lines(*lines[:4])), after) is None


def test_processes_of_one_log_add_up() -> None:
    ticks = "".join(
        f"deadheat-heap {pid}.0 {100.0 * n} {size * n}\n"
        for n in range(6)
        for pid, size in ((1, 500), (2, 700))
    )
    assert allocated_per_s([], read_traces(ticks)) == pytest.approx(12_000)


def test_a_trace_that_says_too_little_is_an_error() -> None:
    with pytest.raises(DeadheatError, match="as if several processes wrote it"):
        read_traces(go_lines((7, 1.0, "4->4->1"), (3, 1.1, "4->4->1")))
    small = read_traces(go_lines(*((n, float(n), "4->4->1") for n in range(1, 9))))
    with pytest.raises(DeadheatError, match="too often for a trace in whole MB"):
        allocated_per_s([], small)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_module_for_node_adds_up_what_it_allocates() -> None:
    """100,000 arrays of 128 elements of 8 bytes, over 20 turns of its event loop."""
    script = (
        "let n = 0; const kept = []; const turn = () => {"
        " for (let i = 0; i < 5000; i++) kept[i % 100] = new Array(128).fill(i);"
        " if (++n < 20) setTimeout(turn, 20); }; setTimeout(turn, 200)"
    )
    environment = {"PATH": "/usr/bin:/bin", "NODE_OPTIONS": TRACES["NODE_OPTIONS"]}
    ended = subprocess.run(
        ["node", "-e", f"{script}; setTimeout(() => 0, 1500)"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    readings = read_traces(ended.stderr)
    allocated_bytes = readings[-1].allocated_bytes - readings[0].allocated_bytes
    assert 0.95 <= allocated_bytes / (100_000 * (128 * 8 + 32)) <= 1.2
