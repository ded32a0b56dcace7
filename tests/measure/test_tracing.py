"""System calls and stacks of a server under load, by strace and perf where these are installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deadheat.campaign import explain as tracing
from deadheat.campaign.explain import folded, read_summary, record_stacks, require, traced_calls
from deadheat.errors import DeadheatError
from deadheat.host import HostError, ProcessSpec
from deadheat.load.engine import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.contender import Instance
from deadheat.measure.load_process import LoadProcess, close_load, load_slice, open_load
from deadheat.measure.trial import load_spec
from deadheat.measure.world import World
from deadheat.protocol import load_protocol
from tests.servers.contenders import CATALOG, contender

SUMMARY = """\
strace: Process 17722 attached with 3 threads
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 48.22    0.000474          94         5           poll
  4.37    0.000043           4        10         2 sendto
  0.00    0.000000           0         1           rt_sigaction
------ ----------- ----------- --------- --------- ----------------
100.00    0.000983           7        16         2 total
"""
SCRIPT = """\
python3
\tffffffff8135547b copy_process
\tffffffff81000130 entry_SYSCALL_64_after_hwframe
\t          1098d9 clone3
\t    5598653393a0 [unknown]
\t    5598653393a0 [unknown]
\t    7f1122334455 py::handle;x:/srv/app.py

my thread
\t          1098d9 std::map<int, int>::find(int const&)
"""


@contextmanager
def loaded(world: World) -> Iterator[tuple[Instance, LoadProcess]]:
    instance = lifecycle.start(world, contender("hello"))
    try:
        load = open_load(world, load_spec(load_protocol(CATALOG, "brief"), instance, 2))
        try:
            yield instance, load
        finally:
            close_load(load)
    finally:
        lifecycle.stop(world, instance)


def test_the_summary_of_strace_becomes_counts_with_the_most_first() -> None:
    assert list(read_summary(SUMMARY).items()) == [("sendto", 10), ("poll", 5), ("rt_sigaction", 1)]
    assert read_summary("strace: attach: Operation not permitted\n") == {}


def test_samples_become_stacks_from_the_outermost_frame() -> None:
    assert folded(SCRIPT) == {
        "python3;py::handle x:/srv/app.py;[unknown];clone3;"
        "entry_SYSCALL_64_after_hwframe_[k];copy_process_[k]": 1,
        "my thread;std::map<int, int>::find(int const&)": 1,
    }
    assert folded("") == {}


def test_bug_frames_named_the_folder_in_which_a_server_was_built() -> None:
    sample = "node\n\t 1 JS:*handle file:///srv/app/main.mjs:9:3\n\t 2 py::f:/srv/app/a.py\n"
    assert folded(sample, "/srv/app") == {"node;py::f:a.py;JS:*handle main.mjs:9:3": 1}


def test_a_missing_tool_says_how_to_install_it(world: World) -> None:
    with pytest.raises(DeadheatError, match="system calls are left out: no-tool is missing") as it:
        require(world.server_host, "no-tool", "system calls are", "apt-get install no-tool")
    assert it.value.hint == "apt-get install no-tool"


def test_a_tool_that_cannot_attach_says_what_it_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "require", lambda *_: None)
    monkeypatch.setattr(tracing, "_pids", lambda *_: [4_000_000])  # above pid_max
    with loaded(world) as (instance, load):
        try:
            world.server_host.run(ProcessSpec(["strace", "--version"]), 10)
        except HostError:
            pytest.skip("strace is not installed")
        with pytest.raises(DeadheatError, match=r"strace cannot attach .*\(.*[Nn]o such process"):
            traced_calls(world, instance, load)
        assert load_slice(world, load, SliceRequest(1.0)).requests_ok


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_system_calls_of_each_request_are_counted_and_the_server_runs_on(world: World) -> None:
    """Each request is read once and answered once, whatever strace costs."""
    if world.server_host.containment == "pid-namespace":
        pytest.skip("strace does not see the processes of another namespace")
    with loaded(world) as (instance, load):
        calls, result = traced_calls(world, instance, load)
        assert load_slice(world, load, SliceRequest(1.0)).requests_ok
    assert result.requests_ok
    reads = sum(n for name, n in calls.items() if name.startswith(("recv", "read")))
    writes = sum(n for name, n in calls.items() if name.startswith(("send", "write")))
    assert 0.9 <= reads <= 3.2
    assert 0.9 <= writes <= 2.2


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_stacks_are_sampled_under_load(world: World) -> None:
    if world.server_host.containment == "pid-namespace":
        pytest.skip("perf does not see the processes of another namespace")
    with loaded(world) as (instance, load):
        try:
            read = record_stacks(world, instance, load)
        except DeadheatError as error:
            pytest.skip(str(error))
    assert sum(read().values()) > 0
