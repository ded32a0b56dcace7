import os
import re
import signal
import sys
from pathlib import Path

import pytest

from deadheat.host import HostError, ProcessSpec
from deadheat.host.agent.log import CAPTURE_BYTES_MAX
from deadheat.host.agent_host import AgentHost
from deadheat.host.local import LocalHost
from tests.host.support import eventually, log, python

MEMORY_SOURCES = {"anonymous and shared, cgroup", "anonymous and shared, PSS"}
SPIN = "print('spinning', flush=True)\nwhile True: pass"
PRINT_CPUS = "import os; print(sorted(os.sched_getaffinity(0)))"
PRINT_OPEN_FILES = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"


ROUNDING_S = 0.02  # the kernel accounts CPU time with a short delay


def used_s(host: LocalHost, process: str, within_s: float = 0.3) -> float:
    """The CPU time that a tree uses from now on."""
    before_s = host.usage(process).cpu_s
    host.sleep(within_s)
    return host.usage(process).cpu_s - before_s


def wait_for_log(host: LocalHost, path: str, text: str) -> None:
    eventually(lambda: text in host.read_tail(path, 1000))


def test_reports_its_containment(host: LocalHost, containment: str) -> None:
    assert host.containment == containment
    assert host.fingerprint().containment == containment


def test_run_returns_output_exit_code_and_time(host: LocalHost) -> None:
    completed = host.run(ProcessSpec(["sh", "-c", "echo out; echo err >&2; exit 7"]), 60)
    assert (completed.stdout, completed.stderr, completed.exit_code) == ("out\n", "err\n", 7)
    assert completed.elapsed_s > 0
    assert host.run(ProcessSpec(["sh", "-c", "kill -KILL $$"]), 60).exit_code == -signal.SIGKILL


def test_run_past_its_limit_keeps_the_output() -> None:
    limit_s = 3.0  # long enough for the output on a busy machine
    with LocalHost() as host:
        completed = host.run(ProcessSpec(["sh", "-c", "echo before; sleep 600"]), limit_s)
    assert completed.exit_code is None
    assert completed.stdout == "before\n"
    assert completed.elapsed_s >= limit_s


def test_run_does_not_delay_other_requests(host: LocalHost, tmp_path: Path) -> None:
    go = tmp_path / "go"
    wait = f"until test -e {go}; do sleep 0.01; done; echo went"
    process = host.start(
        ProcessSpec(["sh", "-c", f"sleep 0.1; touch {go}; sleep 600"]), log(tmp_path)
    )
    assert host.run(ProcessSpec(["sh", "-c", wait]), 60).stdout == "went\n"
    assert host.alive(process) is None


def test_long_output_keeps_head_and_tail_with_a_note(host: LocalHost) -> None:
    code = "import sys; sys.stdout.write('head' + 'x' * (20 << 20) + 'tail')"
    output = host.run(python(code), 60).stdout
    note = re.search(r"\n\[deadheat: (\d+) bytes omitted\]\n", output)
    assert note is not None
    assert output.startswith("head")
    assert output.endswith("tail")
    assert len(output) - len(note[0]) + int(note[1]) == (20 << 20) + 8


def test_signals_python_ignores_are_restored(host: LocalHost) -> None:
    status = host.run(ProcessSpec(["cat", "/proc/self/status"]), 60).stdout
    ignored = re.search(r"SigIgn:\s*([0-9a-f]+)$", status, re.MULTILINE)
    assert ignored is not None
    of_libc = 0b11 << 31  # signals 32 and 33; GNU make leaves them ignored
    assert int(ignored.group(1), 16) & ~of_libc == 0


def test_run_sets_environment_folder_and_cpus_and_gives_no_input(
    host: LocalHost, tmp_path: Path
) -> None:
    code = "echo $GREETING; pwd; cat"
    spec = ProcessSpec(["sh", "-c", code], str(tmp_path), {"GREETING": "hello"})
    assert host.run(spec, 60).stdout == f"hello\n{tmp_path}\n"
    cpu = host.fingerprint().cpu.allowed[-1]
    assert host.run(python(PRINT_CPUS, cpus=[cpu]), 60).stdout == f"[{cpu}]\n"


def test_open_files_are_limited_by_the_hard_limit_alone(host: LocalHost) -> None:
    hard = host.fingerprint().open_files_hard
    assert host.run(python(PRINT_OPEN_FILES), 60).stdout == f"({hard}, {hard})\n"


def test_freeze_stops_and_thaw_resumes_the_use_of_cpu(host: LocalHost, tmp_path: Path) -> None:
    process = host.start(python(SPIN), log(tmp_path))
    wait_for_log(host, log(tmp_path), "spinning")
    host.freeze(process)
    assert used_s(host, process) <= ROUNDING_S
    frozen_s = host.usage(process).cpu_s
    host.thaw(process)
    eventually(lambda: host.usage(process).cpu_s > frozen_s + ROUNDING_S)


def test_members_are_the_same_processes_after_a_freeze(host: LocalHost, tmp_path: Path) -> None:
    process = host.start(ProcessSpec(["sh", "-c", "sleep 60 & echo ready; wait"]), log(tmp_path))
    wait_for_log(host, log(tmp_path), "ready")
    before = host.members(process)
    assert len(before) == 2
    host.freeze(process)
    host.thaw(process)
    assert host.members(process) == before


def test_freeze_includes_processes_that_start_meanwhile(host: LocalHost, tmp_path: Path) -> None:
    code = "echo ready; while true; do /bin/true; done"
    process = host.start(ProcessSpec(["sh", "-c", code]), log(tmp_path))
    wait_for_log(host, log(tmp_path), "ready")
    host.freeze(process)
    assert used_s(host, process) <= ROUNDING_S


def test_cpu_of_short_lived_children_is_counted(host: LocalHost) -> None:
    """Half of the children are orphans; each prints its own CPU time."""
    child = "import time; sum(range(200_000)); print(time.process_time(), flush=True)"
    code = f"""
import os, subprocess, sys
command = [sys.executable, "-I", "-S", "-c", {child!r}]
all_ended, alive = os.pipe()
os.set_inheritable(alive, True)
for number in range(20):
    if number % 2:
        subprocess.run(command, close_fds=False)
    elif os.fork() == 0:
        if os.fork() == 0:
            os.execv(command[0], command)
        os._exit(0)
    else:
        os.wait()
os.close(alive)
os.read(all_ended, 1)
"""
    completed = host.run(python(code), 120)
    printed_s = [float(line) for line in completed.stdout.splitlines()]
    assert len(printed_s) == 20
    assert completed.cpu_s >= 0.8 * sum(printed_s)


def test_usage_counts_processes_and_threads(host: LocalHost, tmp_path: Path) -> None:
    code = (
        "import os, threading, time\n"
        "os.fork()\n"
        "for _ in range(3): threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print('up', flush=True)"
    )
    process = host.start(python(code), log(tmp_path))
    eventually(lambda: host.read_tail(log(tmp_path), 100).count("up") == 2)
    usage = host.usage(process)
    assert (usage.processes, usage.threads) == (2, 8)


def test_peak_memory_is_kept_after_memory_is_freed(host: LocalHost, tmp_path: Path) -> None:
    size = 64 << 20
    code = f"a = bytearray({size}); del a; print('freed', flush=True); import time; time.sleep(600)"
    process = host.start(python(code), log(tmp_path))
    wait_for_log(host, log(tmp_path), "freed")
    usage = host.usage(process)
    assert usage.memory_peak_bytes >= size > usage.memory_bytes


def test_usage_tells_user_from_system_time_and_counts_switches_and_faults(
    host: LocalHost, tmp_path: Path
) -> None:
    """One process only computes, and one only asks the kernel."""
    code = "import os\nprint('up', flush=True)\nwhile True: WORK"
    for work, larger in (("sum(range(10000))", "user_s"), ("os.urandom(1 << 16)", "system_s")):
        path = str(tmp_path / larger)
        process = host.start(python(code.replace("WORK", work)), path)
        wait_for_log(host, path, "up")
        before = host.usage(process)
        host.sleep(0.3)
        after = host.usage(process)
        assert after.user_s is not None
        assert after.system_s is not None
        assert after.cpu_s == pytest.approx(after.user_s + after.system_s)
        growth = {n: getattr(after, n) - getattr(before, n) for n in ("user_s", "system_s")}
        assert max(growth, key=lambda name: growth[name]) == larger
        for name in ("voluntary_switches", "involuntary_switches", "page_faults"):
            assert getattr(after, name) >= getattr(before, name) >= 0, name
        host.stop(process, "SIGKILL", 0)


def test_switches_of_an_ended_thread_stay_counted(host: LocalHost, tmp_path: Path) -> None:
    code = (
        "import sys, threading, time\n"
        "def naps():\n"
        "    for _ in range(300): time.sleep(0.0001)\n"
        "    print('slept', flush=True); time.sleep(0.5)\n"
        "thread = threading.Thread(target=naps); thread.start(); thread.join()\n"
        "print('ended', flush=True)\n"
        "time.sleep(600)"
    )
    process = host.start(python(code), log(tmp_path))
    wait_for_log(host, log(tmp_path), "slept")
    first = host.usage(process).voluntary_switches
    wait_for_log(host, log(tmp_path), "ended")
    last = host.usage(process).voluntary_switches
    assert first is not None
    assert last is not None
    assert last >= first >= 300


def test_memory_leaves_out_the_files_that_a_process_reads_and_maps(
    host: LocalHost, tmp_path: Path
) -> None:
    """That of cgroups contained page cache, and PSS mapped files: one column had two meanings."""
    size = 64 << 20
    (tmp_path / "file").write_bytes(b"x" * size)
    code = (
        "import mmap, time\n"
        f"file = open({str(tmp_path / 'file')!r}, 'rb')\n"
        "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
        "print('read', sum(mapped[::4096]), flush=True)\n"
        "time.sleep(600)"
    )
    process = host.start(python(code), log(tmp_path))
    wait_for_log(host, log(tmp_path), "read")
    usage = host.usage(process)
    assert 0 < usage.memory_bytes <= usage.memory_peak_bytes < size
    assert host.fingerprint().memory_source in MEMORY_SOURCES


def test_alive_returns_none_until_the_process_ends(host: LocalHost, tmp_path: Path) -> None:
    go = tmp_path / "go"
    wait = f"until test -e {go}; do sleep 0.01; done; exit 3"
    process = host.start(ProcessSpec(["sh", "-c", wait]), log(tmp_path))
    assert host.alive(process) is None
    go.touch()
    eventually(lambda: host.alive(process) is not None)
    exited = host.alive(process)
    assert exited is not None
    assert (exited.exit_code, exited.killed) == (3, False)
    assert host.stop(process, "SIGTERM", 10).exit_code == 3


def test_stop_lets_a_server_shut_down(host: LocalHost, tmp_path: Path) -> None:
    code = "trap 'echo bye; exit 5' TERM; echo ready; while true; do sleep 0.01; done"
    process = host.start(ProcessSpec(["sh", "-c", code]), log(tmp_path))
    wait_for_log(host, log(tmp_path), "ready")
    exited = host.stop(process, "SIGTERM", deadline_s=60)
    assert (exited.exit_code, exited.killed, exited.survivors) == (5, False, 0)
    assert host.read_tail(log(tmp_path), 4) == "bye\n"
    assert host.stop(process, "SIGTERM", 60) == exited == host.alive(process)
    with pytest.raises(HostError, match="stopped"):
        host.usage(process)


def test_stop_counts_survivors_of_an_ended_first_process(host: LocalHost, tmp_path: Path) -> None:
    process = host.start(ProcessSpec(["sh", "-c", "sleep 600 & exit 4"]), log(tmp_path))
    eventually(lambda: host.alive(process) is not None)
    exited = host.stop(process, "SIGTERM", deadline_s=0.1)
    assert (exited.exit_code, exited.killed, exited.survivors) == (4, False, 1)


@pytest.mark.parametrize("method", ["run", "start"])
def test_a_missing_program_is_named(host: LocalHost, tmp_path: Path, method: str) -> None:
    spec = ProcessSpec(["no-such-server", "--port", "1"])
    with pytest.raises(HostError, match="no such program: no-such-server") as caught:
        host.run(spec, 1) if method == "run" else host.start(spec, log(tmp_path))
    assert caught.value.hint == "install it, or put its folder on PATH"


def test_other_reasons_for_a_failed_start_are_named(host: LocalHost, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(HostError, match="its interpreter or loader does not exist"):
        host.run(ProcessSpec([str(script)]), 1)
    with pytest.raises(HostError, match="cannot start in /no/such/folder: No such file"):
        host.run(ProcessSpec(["true"], cwd="/no/such/folder"), 1)
    with pytest.raises(HostError, match="cannot pin to CPUs 9999: this host allows"):
        host.run(ProcessSpec(["true"], cpus=[9999]), 1)
    with pytest.raises(HostError, match="Permission denied"):
        host.run(ProcessSpec([str(tmp_path)]), 1)
    with pytest.raises(HostError, match="cannot write the log /no/such/folder/log"):
        host.start(ProcessSpec(["true"]), "/no/such/folder/log")
    with pytest.raises(HostError, match="no process nothing: unknown"):
        host.usage("nothing")
    process = host.start(ProcessSpec(["sleep", "600"]), log(tmp_path))
    with pytest.raises(HostError, match="no such signal: SIGNOPE"):
        host.stop(process, "SIGNOPE", 1)


def test_a_dead_agent_is_reported_with_its_last_output() -> None:
    code = 'import sys; print(\'{"id": 0, "ok": {"containment": "none"}}\', flush=True)\n'
    code += "sys.stdin.readline(); sys.exit('a last word')"
    with AgentHost([sys.executable, "-c", code]) as host:
        with pytest.raises(
            HostError, match=r"the agent ended unexpectedly \(exit code 1\)"
        ) as caught:
            host.free_port()
        assert caught.value.hint == "its last output: a last word"
        with pytest.raises(HostError, match="the agent ended unexpectedly"):
            host.free_port()


def test_an_agent_that_cannot_start_is_reported() -> None:
    with pytest.raises(HostError, match="cannot start the agent no-such-ssh"):
        AgentHost(["no-such-ssh"])
    with pytest.raises(HostError, match="the agent ended unexpectedly"):
        AgentHost([sys.executable, "-c", ""])


def test_agent_and_server_have_their_own_sessions(host: LocalHost) -> None:
    session = "import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))"
    assert host.run(python(session), 60).stdout == "True\n"
    assert os.getsid(host._agent.pid) == host._agent.pid


def test_invalid_utf8_is_replaced_and_a_character_across_head_and_tail_kept(
    host: LocalHost,
) -> None:
    assert host.run(ProcessSpec(["printf", r"a\377b"]), 60).stdout == "a\N{REPLACEMENT CHARACTER}b"
    half = CAPTURE_BYTES_MAX // 2
    code = f"import sys; sys.stdout.buffer.write(b'x' * ({half} - 1) + '\u00e9'.encode())"
    assert host.run(python(code), 60).stdout == "x" * (half - 1) + "\u00e9"
