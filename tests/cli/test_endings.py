"""What SIGTERM and SIGHUP leave behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from deadheat.cli.endings import ExitCode
from tests.host.support import eventually
from tests.report.made import MadeRun

COMMAND = [sys.executable, "-c", "from deadheat.cli import main; main()"]


@pytest.fixture(autouse=True)
def hangup_ends_processes() -> Iterator[None]:
    """Child processes inherit an ignored SIGHUP, as from `nohup make test`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_import_that_is_ended_leaves_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    bundle, temporary = tmp_path / "run.deadheat", tmp_path / "temporary"
    os.mkfifo(bundle)  # the import waits for its first byte
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "DEADHEAT_HOME": str(tmp_path / "home")}
    with subprocess.Popen([*COMMAND, "import", str(bundle)], env=environment) as process:
        # Python first makes a file there, to see whether it may.
        eventually(lambda: any(each.is_dir() for each in temporary.iterdir()))
        process.send_signal(number)
    assert process.returncode == ExitCode.INTERRUPTED
    assert list(temporary.iterdir()) == []


def test_a_second_signal_does_not_end_the_cleanup(tmp_path: Path) -> None:
    """A terminal that closes sends SIGHUP twice."""
    code = (
        "import os, signal, sys\n"
        "from deadheat.cli.endings import ending_as_interrupts\n"
        "try:\n"
        "    with ending_as_interrupts():\n"
        "        try:\n"
        "            os.kill(os.getpid(), signal.SIGHUP)\n"
        "        finally:\n"
        "            os.kill(os.getpid(), signal.SIGHUP)\n"
        "            os.kill(os.getpid(), signal.SIGTERM)\n"
        "            print('cleaned up')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "cleaned up\ninterrupted\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("words", ["raise SystemExit(4)", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_a_signal_after_the_command_does_not_change_its_exit_code(
    number: signal.Signals, words: str
) -> None:
    """Regression: SIGTERM while the interpreter ended was exit code -15."""
    code = (
        "import atexit, os, signal, time\n"
        "from deadheat import cli\n"
        f"atexit.register(lambda: (os.kill(os.getpid(), {int(number)}), time.sleep(0.05)))\n"
        "def command(**_):\n"
        f"    {words}\n"
        "cli.cli.main = command\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == (4 if "4" in words else ExitCode.INTERRUPTED)
    assert done.stderr == ""


def test_a_signal_that_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "from deadheat.cli.endings import ending_as_interrupts\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with ending_as_interrupts():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    print('goes on')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "goes on\n"


@pytest.mark.alone
def test_a_lost_terminal_does_not_hide_the_interrupt(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    interrupted, failure = tmp_path / "interrupted", tmp_path / "failure"
    code = (
        "import pathlib, sys, time, traceback\n"
        "from deadheat.cli.endings import ending_as_interrupts\n"
        "def keep(*error):\n"
        "    pathlib.Path(sys.argv[2]).write_text(''.join(traceback.format_exception(*error)))\n"
        "sys.excepthook = keep  # the terminal that could show it is gone\n"
        "try:\n"
        "    with ending_as_interrupts():\n"
        "        print('started', flush=True)\n"
        "        time.sleep(600)\n"
        "except KeyboardInterrupt:\n"
        "    print('to nowhere', flush=True)\n"
        "    pathlib.Path(sys.argv[1]).touch()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(interrupted), str(failure)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    assert os.read(leader, 100).startswith(b"started")
    os.close(leader)
    process.send_signal(signal.SIGHUP)
    exit_code = process.wait()
    assert not failure.exists(), failure.read_text()
    assert (exit_code, interrupted.exists()) == (0, True)


@pytest.mark.parametrize("name", ["HUP", "INT"])  # uvicorn handles TERM as INT
def test_bug_serve_did_not_end_or_had_a_traceback_when_its_terminal_closed(
    run: MadeRun, tmp_path: Path, name: str
) -> None:
    """`python -m bench.faults --only serve`: the exception was lost in the loop of uvicorn."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", "--port", str(port), "--store", str(run.store.path)]
    command = [*COMMAND, *words]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(command, stderr=said)
    try:
        while True:
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/") as page:
                assert page.status == 200
                break
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(getattr(signal.Signals, f"SIG{name}"))
        assert process.wait(60) == ExitCode.OK
    finally:
        process.kill()
    assert "Traceback" not in (tmp_path / "said").read_text()


LACKS = {
    "memory": ("raise MemoryError", "memory"),
    "memory of the kernel": ("raise OSError(errno.ENOMEM, 'x')", "memory"),
    "a thread": ('raise RuntimeError("can\'t start new thread")', "memory"),
    "memory for a library": (
        "raise ImportError('x.so: failed to map segment from shared object')",
        "memory",
    ),
    "descriptors": ("raise OSError(errno.EMFILE, 'x')", "file descriptor"),
    "a thread that cannot begin": (
        "threading.Thread._bootstrap_inner = fail; threading.Thread(target=print).start()",
        "memory",
    ),
    "a thread that ends": (
        "threading.Thread(target=fail, args=[None]).start(); threading.Event().wait()",
        "memory",
    ),
}


@pytest.mark.parametrize("name", LACKS)
def test_bug_a_command_without_memory_hung_or_named_the_output(name: str) -> None:
    words, lacks = LACKS[name]
    code = (
        "import errno, threading\n"
        "from deadheat import cli\n"
        "def fail(_):\n"
        "    raise MemoryError\n"
        "def command(**_):\n"
        f"    {words}\n"
        "cli.cli.main = command\n"
        "cli.main()\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == ExitCode.FAILED, done.stderr
    assert done.stderr.startswith(f"error: deadheat has no {lacks} left\n  hint: raise `ulimit ")
    assert "Traceback" not in done.stderr
