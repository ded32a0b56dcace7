"""The requests that the agent answers, and processes that answer each line with a line."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any, Callable  # noqa: UP035 (for 3.8)

from .containment import Containment
from .files import Files, cache_folder, free_bytes
from .fingerprint import IdleCpus, fingerprint, first_cpu, is_virtual
from .kernel import KERNEL_DEADLINE_S, compiler_busy_s, place_compiler, start_times, thread_times
from .limiter import Limiter
from .listeners import listeners
from .log import Capture, Log, open_log, read_tail
from .network import Ports, exchange, interface, local_address, peer_address, resolve
from .program import Fault, Json
from .running import ListeningServer, find_running
from .samples import Watch, listen_drops
from .tree import Processes, Tree

ASK_POLL_S = 0.5  # how often `ask` checks that the process lives
ANSWER_BYTES_MAX = 16 << 20  # one line of a process that answers questions


class Conversation:
    """Sends lines to a process and reads one line for each, with a deadline.

    After a missed deadline the next line may answer an earlier question. The conversation is then
    broken, and every later question fails.
    """

    def __init__(self, tree: Tree, questions: IO[bytes], log_path: str) -> None:
        assert tree.process.stdout is not None
        self.tree = tree
        self.questions = questions
        self.answers = tree.process.stdout
        self.log_path = log_path
        self.received = b""
        self.broken: str | None = None
        self.asking = threading.Lock()
        os.set_blocking(questions.fileno(), False)

    def ask(self, line: str | None, deadline_s: float) -> str:
        """Send `line`, if it is not None, and return the next line of the process."""
        with self.asking:
            if self.broken is not None:
                raise Fault(self.broken)
            try:
                return self.exchange(line, time.monotonic() + deadline_s)
            except TimeoutError:
                self.broken = f"no answer within {deadline_s:g} s"
            except (OSError, EOFError):
                self.tree.ended.wait(1.0)
                self.broken = f"it ended with exit code {self.tree.exit_code} before it answered"
            except Fault as fault:
                self.broken = fault.message
            *before, last_line = read_tail(self.log_path, 500).strip().split("\n")
            if last_line:
                self.broken += f": {last_line}"
            raise Fault(self.broken, "\n".join([*before, last_line]) if before else None)

    def exchange(self, line: str | None, end_s: float) -> str:
        if line is not None:
            self.send(line.encode() + b"\n", end_s)
        while b"\n" not in self.received:
            ended = self.tree.ended.is_set()
            if self.wait_for(self.answers.fileno(), select.POLLIN, end_s, ended):
                chunk = os.read(self.answers.fileno(), 1 << 16)
                if not chunk:
                    raise EOFError
                self.received += chunk
                if len(self.received) > ANSWER_BYTES_MAX:
                    raise Fault(f"its answer is longer than {ANSWER_BYTES_MAX} bytes")
            elif ended:  # our init may hold the pipe open
                raise EOFError
        answer, _, self.received = self.received.partition(b"\n")
        return answer.decode(errors="replace")

    def send(self, question: bytes, end_s: float) -> None:
        """Write a question; a process that does not read must not block this one."""
        pipe = self.questions.fileno()
        while question:
            ended = self.tree.ended.is_set()
            if self.wait_for(pipe, select.POLLOUT, end_s, ended):
                question = question[os.write(pipe, question) :]
            elif ended:
                raise EOFError

    @staticmethod
    def wait_for(pipe: int, event: int, end_s: float, ended: bool) -> bool:
        """Whether a pipe is ready soon; `TimeoutError` past the end, also if bytes still arrive."""
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        poll = select.poll()
        poll.register(pipe, event)
        return bool(poll.poll(0 if ended else 1000 * min(left_s, ASK_POLL_S)))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.questions.close()
        self.answers.close()


class Agent:
    def __init__(self, containment: Containment, isolated: bool = False) -> None:
        self.containment = containment
        self.ports = Ports()
        self.files = Files()
        self.idle_cpus = IdleCpus(is_virtual(first_cpu()) is True)
        self.trees: dict[str, Tree] = {}
        self.running: dict[str, ListeningServer] = {}
        self.stopped: dict[str, Json] = {}
        self.watches: dict[str, Watch] = {}
        self.conversations: dict[str, Conversation] = {}
        self.watch_numbers = itertools.count(1)
        self.starting = threading.Lock()
        self.closing = False
        Limiter(self.trees, containment.cgroup is not None, containment.orphans.reap).start()
        self.requests: dict[str, Callable[..., Any]] = {
            "fingerprint": lambda: fingerprint(containment, self.idle_cpus, isolated),
            "keep_awake": self.idle_cpus.keep_awake,
            "run": self.run,
            "start": self.start,
            "converse": self.converse,
            "ask": self.ask,
            "compiler_busy_s": lambda process: compiler_busy_s(self.tree(process).members()),
            "place_compiler": lambda process, cpus: place_compiler(
                self.tree(process).members(), cpus
            ),
            "listeners": lambda process, port: listeners(self.tree(process).members(), port),
            "members": lambda process: start_times(self.tree(process).members()),
            "threads": lambda process: thread_times(self.processes(process).members()),
            "alive": self.alive,
            "adopt": self.adopt,
            "cpu_s": lambda process: self.processes(process).cpu_s(),
            "usage": lambda process: self.processes(process).usage(),
            "find_running": self.find_running,
            "listen_drops": listen_drops,
            "freeze": self.freeze,
            "thaw": self.thaw,
            "stop": self.stop,
            "watch": self.watch,
            "unwatch": self.unwatch,
            "exchange": exchange,
            "free_port": self.ports.take,
            "ping": lambda: None,
            "resolve": resolve,
            "peer_address": peer_address,
            "local_address": local_address,
            "interface": interface,
            "cache_folder": cache_folder,
            "free_bytes": free_bytes,
            "scratch_folder": self.files.scratch_folder,
            "read_file": self.files.read_file,
            "append_file": self.files.append_file,
            "finish_file": self.files.finish_file,
            "unpack": self.files.unpack,
            "lock": self.files.lock,
            "unlock": self.files.unlock,
            "read_tail": read_tail,
        }

    def launch(
        self, spec: Json, stdout: Any, stderr: Any, log: IO[bytes] | None = None
    ) -> tuple[str, Tree]:
        with self.starting:
            if self.closing:
                raise Fault("the agent is closing")
            tree = self.containment.start(spec, stdout, stderr)
            if log:
                tree.log = Log(log, tree.limits["log_bytes"])
            name = str(self.containment.started)
            self.trees[name] = tree
            return name, tree

    def tree(self, process: str) -> Tree:
        if process in self.trees:
            return self.trees[process]
        raise Fault(f"no process {process}: {'stopped' if process in self.stopped else 'unknown'}")

    def processes(self, process: str) -> Processes:
        return self.running.get(process) or self.tree(process)

    def find_running(self, host: str, port: int) -> Json | None:
        """A server has the same name at each of its URLs."""
        found = find_running(host, port)
        if found is None:
            return None
        server = self.running.setdefault(found.name, found)
        return {"process": server.name, "cpus": server.cpus()}

    def run(self, spec: Json, timeout_s: float) -> Json:
        name, tree = self.launch(spec, subprocess.PIPE, subprocess.PIPE)
        assert tree.process.stdout is not None
        assert tree.process.stderr is not None
        stdout, stderr = Capture(tree.process.stdout), Capture(tree.process.stderr)
        in_time = tree.ended.wait(timeout_s)
        cpu_s = tree.cpu_s()
        tree.kill()
        del self.trees[name]
        tree.ended.wait(KERNEL_DEADLINE_S)
        return {
            "exit_code": tree.exit_code if in_time else None,
            "stdout": stdout.text(),
            "stderr": stderr.text(),
            "elapsed_s": tree.ended_s - tree.started_s,
            "cpu_s": cpu_s,
            "limit": tree.limit,
        }

    def start(self, spec: Json, log_path: str) -> str:
        with open_log(log_path) as log:
            return self.launch(spec, log, subprocess.STDOUT, log)[0]

    def converse(self, spec: Json, log_path: str) -> str:
        """Start a process for `ask`; its standard error goes to the log."""
        with open_log(log_path) as log:
            reader, writer = os.pipe()
            try:
                name, tree = self.launch(dict(spec, stdin_fd=reader), subprocess.PIPE, log, log)
            except BaseException:
                os.close(writer)
                raise
            finally:
                os.close(reader)
        self.conversations[name] = Conversation(tree, os.fdopen(writer, "wb", 0), log_path)
        return name

    def ask(self, process: str, line: str | None, deadline_s: float) -> str:
        if process not in self.conversations:
            raise Fault(f"process {process} does not take questions")
        return self.conversations[process].ask(line, deadline_s)

    def alive(self, process: str) -> Json | None:
        if process in self.stopped:
            return self.stopped[process]
        tree = self.tree(process)
        return tree.exited() if tree.ended.is_set() else None

    def adopt(self, process: str, pid: int) -> None:
        tree = self.tree(process)
        tree.adopt(pid)
        self.containment.keep(tree)

    def freeze(self, process: str) -> None:
        tree = self.tree(process)
        tree.freeze()
        tree.freezes += 1
        tree.frozen = True

    def thaw(self, process: str) -> None:
        tree = self.tree(process)
        tree.frozen = False
        tree.thaw()

    def stop(self, process: str, signal_name: str, deadline_s: float) -> Json:
        if process in self.stopped:
            return self.stopped[process]
        number = getattr(signal.Signals, signal_name, None)
        if number is None:
            raise Fault(f"no such signal: {signal_name}", "such as SIGTERM, SIGINT or SIGQUIT")
        self.stopped[process] = self.tree(process).stop(number, deadline_s)
        if process in self.conversations:
            self.conversations.pop(process).close()
        self.trees.pop(process, None)
        return self.stopped[process]

    def watch(self, processes: list[str], interval_s: float) -> str:
        name = str(next(self.watch_numbers))
        self.watches[name] = Watch({p: self.processes(p) for p in processes}, interval_s)
        return name

    def unwatch(self, watch: str) -> list[Json]:
        if watch not in self.watches:
            raise Fault(f"no watch {watch}")
        return self.watches.pop(watch).finish()

    def close(self) -> bool:
        """Kill every tree. If one cannot be killed, print the last error and return False."""
        with self.starting:
            self.closing = True
            failures = self.containment.close(self.trees.values())
        self.files.close()
        self.idle_cpus.release()
        if failures:
            hint = getattr(failures[-1], "hint", None)
            print(failures[-1], *filter(None, [hint]), sep="\n", file=sys.stderr, flush=True)
        return not failures
