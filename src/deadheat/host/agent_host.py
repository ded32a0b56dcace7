"""A host behind an agent, which is any command that speaks the agent's JSON lines."""

import base64
import collections
import contextlib
import itertools
import json
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from deadheat.errors import LinkLost
from deadheat.host import (
    Completed,
    Exchange,
    Exited,
    HostError,
    Limits,
    Listener,
    Listeners,
    ProcessSpec,
    RunningServer,
    Sample,
    ThreadTime,
    TlsAddress,
    Usage,
)
from deadheat.host.agent.program import LEFT_RUNNING
from deadheat.host.fingerprint import Fingerprint, Interface
from deadheat.host.replies import BadReply, Reply, lines_of, replies
from deadheat.strict import JsonObject

AGENT_END_DEADLINE_S = 60.0  # more than the agent takes at most to kill its processes
SILENT_S = 120.0  # more than the agent takes at most to answer, besides what a request allows it
TICK_S = 1.0
READER_S = 5.0  # from the end of the agent to that of its output, which another may hold open
STDERR_LINE_BYTES_MAX = 1 << 12


class AgentHost:
    """Implements `Host` through an agent. Safe to use from several threads.

    `command` starts the agent, here or on another machine, with pipes as standard input and
    output. The agent has its own session, so Ctrl-C at the terminal reaches neither the agent nor
    its processes. All of them end when the context ends or this process dies. `limits` hold for
    each process tree whose `ProcessSpec` is limited; the defaults hold for the others. `preamble`
    goes to the command first; a line goes there each `heartbeat_s`, to show that this side lives.
    """

    name = "this machine"
    greeting_s = SILENT_S  # the agent has to begin within this time

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits | None = None,
        preamble: bytes = b"",
        heartbeat_s: float | None = None,
    ) -> None:
        self.interface: Interface | None = None  # of the link to another host
        self._limits = limits or Limits()
        self._numbers = itertools.count(1)
        self._greeting: Future[Any] = Future()
        self._replies: dict[int, Future[Any]] = {0: self._greeting}
        self._lock = threading.Lock()
        self._banner: list[str] = []
        self._broken: HostError | None = None  # why what the agent sent cannot be read
        self._stderr_lines: collections.deque[str] = collections.deque(maxlen=40)
        try:
            self._agent = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"cannot start the agent {command[0]}: {error.strerror}") from error
        self._stderr_reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reply_reader = threading.Thread(target=self._read_replies, daemon=True)
        self._stderr_reader.start()
        self._reply_reader.start()
        self._closed = threading.Event()
        try:
            said = (preamble, heartbeat_s)
            threading.Thread(target=self._keep_sending, args=said, daemon=True).start()
            self.containment = self._greeted()
        except BaseException:
            with contextlib.suppress(HostError):  # the greeting says more
                self.close()
            raise

    def fingerprint(self) -> Fingerprint:
        """As for any host, with `interface` if that of a link was read."""
        fingerprint = Fingerprint.model_validate(self._ask("fingerprint"))
        if self.interface is None:
            return fingerprint
        return fingerprint.model_copy(update={"interface": self.interface})

    def keep_awake(self) -> None:
        self._ask("keep_awake")

    def run(self, spec: ProcessSpec, timeout_s: float) -> Completed:
        return Completed(
            **self._ask("run", timeout_s, spec=self._limited(spec), timeout_s=timeout_s)
        )

    def start(self, spec: ProcessSpec, log_path: str) -> str:
        return str(self._ask("start", spec=self._limited(spec), log_path=log_path))

    def converse(self, spec: ProcessSpec, log_path: str) -> str:
        return str(self._ask("converse", spec=self._limited(spec), log_path=log_path))

    def ask(self, process: str, line: str | None, deadline_s: float) -> str:
        return str(self._ask("ask", deadline_s, process=process, line=line, deadline_s=deadline_s))

    def compiler_busy_s(self, process: str) -> float | None:
        seconds = self._ask("compiler_busy_s", process=process)
        return None if seconds is None else float(seconds)

    def place_compiler(self, process: str, cpus: Sequence[int] | None) -> None:
        self._ask("place_compiler", process=process, cpus=None if cpus is None else list(cpus))

    def alive(self, process: str) -> Exited | None:
        exited = self._ask("alive", process=process)
        return None if exited is None else Exited(**exited)

    def cpu_s(self, process: str) -> float:
        return float(self._ask("cpu_s", process=process))

    def usage(self, process: str) -> Usage:
        return Usage(**self._ask("usage", process=process))

    def listen_drops(self) -> int | None:
        drops: int | None = self._ask("listen_drops")
        return drops

    def listeners(self, process: str, port: int) -> Listeners:
        answer = self._ask("listeners", process=process, port=port)
        own, others = (
            [Listener(**listener) for listener in answer[name]] for name in ("own", "others")
        )
        return Listeners(own, others, answer["complete"], answer["backlog_max"])

    def find_running(self, address: tuple[str, int]) -> RunningServer | None:
        answer = self._ask("find_running", host=address[0], port=address[1])
        return None if answer is None else RunningServer(answer["process"], answer["cpus"])

    def members(self, process: str) -> frozenset[tuple[int, int]]:
        return frozenset((pid, ticks) for pid, ticks in self._ask("members", process=process))

    def threads(self, process: str) -> list[ThreadTime]:
        return [ThreadTime(**thread) for thread in self._ask("threads", process=process)]

    def adopt(self, process: str, pid: int) -> None:
        self._ask("adopt", process=process, pid=pid)

    def freeze(self, process: str) -> None:
        self._ask("freeze", process=process)

    def thaw(self, process: str) -> None:
        self._ask("thaw", process=process)

    def stop(self, process: str, signal: str, deadline_s: float) -> Exited:
        return Exited(
            **self._ask(
                "stop", deadline_s, process=process, signal_name=signal, deadline_s=deadline_s
            )
        )

    def watch(self, processes: Sequence[str], interval_s: float) -> str:
        return str(self._ask("watch", processes=list(processes), interval_s=interval_s))

    def unwatch(self, watch: str) -> list[Sample]:
        return [sample_from(answer) for answer in self._ask("unwatch", watch=watch)]

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        host, port = address
        answer = self._ask(
            "exchange",
            deadline_s,
            host=host,
            port=port,
            payload=base64.b64encode(payload).decode(),
            silence_s=silence_s,
            deadline_s=deadline_s,
            tls=isinstance(address, TlsAddress),
        )
        received = base64.b64decode(answer["received"])
        return Exchange(received, answer["closed"], answer["in_time"])

    def resolve(self, name: str) -> str:
        """The IPv4 address of a name as this host sees it."""
        return str(self._ask("resolve", name=name))

    def peer_address(self) -> str | None:
        """Our address as this host sees it; None without a connection of ssh."""
        address: str | None = self._ask("peer_address")
        return address

    def local_address(self, to: str) -> str | None:
        """This host's IPv4 address on packets to another one; None if no route leads there."""
        address: str | None = self._ask("local_address", to=to)
        return address

    def interface_to(self, address: str) -> Mapping[str, Any] | None:
        """The interface by which packets leave for an IPv4 address; see the agent's `interface`."""
        interface: Mapping[str, Any] | None = self._ask("interface", address=address)
        return interface

    def free_port(self) -> int:
        return int(self._ask("free_port"))

    def read_tail(self, path: str, size_bytes: int) -> str:
        return str(self._ask("read_tail", path=path, size_bytes=size_bytes))

    def now_s(self) -> float:
        return time.monotonic()

    def sleep(self, duration_s: float) -> None:
        time.sleep(duration_s)

    def close(self) -> None:
        """End the agent and every process it started. May be called again.

        Raises `HostError` if the agent could not kill every process.
        """
        assert self._agent.stdin is not None
        self._closed.set()
        was_alive = self._agent.poll() is None
        if not self._greeting.done():
            self._kill()  # it may not read
        with contextlib.suppress(BrokenPipeError):
            self._agent.stdin.close()
        try:
            self._agent.wait(AGENT_END_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            self._kill()
            raise HostError(
                f"the agent did not end within {AGENT_END_DEADLINE_S:.0f} s and was killed",
                "its keeper ends the processes that are left",
            ) from error
        for reader in (self._reply_reader, self._stderr_reader):
            reader.join(READER_S)
        if was_alive and self._agent.returncode == LEFT_RUNNING:
            message, _, hint = self._last_words().partition("\n")
            raise HostError(message, hint or None)
        if was_alive and self._agent.returncode:
            raise self._gone()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _kill(self) -> None:
        """Kill the agent, and what a program in its place has started.

        The trees and the keeper have sessions of their own.
        """
        if self._agent.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._agent.pid, signal.SIGKILL)

    def _greeted(self) -> str:
        greeting = self._await(self._greeting, min(self.greeting_s, SILENT_S))
        if not isinstance(greeting, dict) or not isinstance(greeting.get("containment"), str):
            self._kill()
            raise HostError(f"{self.name}: its agent does not say how it contains processes")
        return str(greeting["containment"])

    def _keep_sending(self, preamble: bytes, heartbeat_s: float | None) -> None:
        """Send it, and then heartbeats. A program that does not read delays this thread only."""
        assert self._agent.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # the greeting says why
            self._agent.stdin.write(preamble)
            self._agent.stdin.flush()
        while heartbeat_s is not None and not self._closed.wait(heartbeat_s):
            with self._lock, contextlib.suppress(BrokenPipeError, ValueError):
                self._agent.stdin.write(b'{"do": "beat"}\n')
                self._agent.stdin.flush()

    def _limited(self, spec: ProcessSpec) -> JsonObject:
        return asdict(spec) | {"limits": asdict(self._limits if spec.limited else Limits())}

    def _ask(self, request: str, allowed_s: float = 0.0, /, **arguments: Any) -> Any:
        """The agent's answer. `allowed_s` is the time that the request itself may take."""
        reply: Future[Any] = Future()
        number = next(self._numbers)
        line = json.dumps({"id": number, "do": request, **arguments}) + "\n"
        assert self._agent.stdin is not None
        with self._lock:
            self._replies[number] = reply
            try:
                self._agent.stdin.write(line.encode())
                self._agent.stdin.flush()
            except (BrokenPipeError, ValueError):  # ValueError: this host was closed
                del self._replies[number]
                raise self._gone() from None
        return self._await(reply, allowed_s + SILENT_S)

    def _await(self, reply: Future[Any], deadline_s: float) -> Any:
        """The reply. Kills an agent that is late, so that its keeper or its inits end the rest.

        It waits in ticks: if this process is stopped meanwhile, that costs one tick.
        """
        for _ in range(math.ceil(deadline_s / TICK_S)):
            with contextlib.suppress(TimeoutError):
                return reply.result(TICK_S)
        self._kill()
        if not self._greeting.done():
            said = self._last_words()[-500:]
            raise HostError(
                f"{self.name}: its agent did not begin within {deadline_s:.0f} s and was killed",
                f"its last output: {said}"
                if said
                else "something stopped it; run the command again",
            )
        raise HostError(
            f"the agent did not answer within {deadline_s:.0f} s and was killed",
            "something stopped or froze it; run the command again",
        )

    def _read_replies(self) -> None:
        """Pass each reply on. If the agent ends or sends a wrong line, every wait fails at once.

        An agent that writes a wrong line is killed.
        """
        assert self._agent.stdout is not None
        broken: BadReply | None = None
        with self._agent.stdout as stream:
            try:
                for reply in replies(lines_of(stream), self._banner):
                    self._pass_on(reply)
            except BadReply as error:
                broken = error
                self._kill()
        self._agent.wait()
        self._stderr_reader.join(READER_S)
        if broken is not None:
            self._broken = HostError(
                f"{self.name}: its agent sent {broken}",
                "something else writes to its standard output, such as ~/.bashrc or a program of "
                "its system; run the command again",
            )
        with self._lock:
            unanswered, self._replies = self._replies, {}
        for waiting in unanswered.values():
            waiting.set_exception(self._gone())

    def _pass_on(self, reply: Reply) -> None:
        with self._lock:
            waiting = self._replies.pop(reply.number, None)
        if waiting is None:
            raise BadReply(f"an answer to request {reply.number}, which does not wait for one")
        if reply.error is not None:
            waiting.set_exception(HostError(reply.error["message"] or "", reply.error["hint"]))
        else:
            waiting.set_result(reply.ok)

    def _read_stderr(self) -> None:
        assert self._agent.stderr is not None
        with self._agent.stderr as stream, contextlib.suppress(ValueError):
            while part := stream.readline(STDERR_LINE_BYTES_MAX):
                self._stderr_lines.append(part.decode(errors="replace"))

    def _last_words(self) -> str:
        """What the host printed before the agent began, and to standard error."""
        return "".join([*self._banner, *self._stderr_lines]).strip()

    def _gone(self) -> HostError | LinkLost:
        if self._broken is not None:
            return self._broken
        stderr = self._last_words()
        return HostError(
            f"the agent ended unexpectedly (exit code {self._agent.poll()})",
            f"its last output: {stderr}" if stderr else None,
        )


def sample_from(answer: dict[str, Any]) -> Sample:
    """A `Sample` from its JSON, in which every key is a string."""
    return Sample(
        **answer
        | {
            "cpu_ticks": {int(cpu): tuple(ticks) for cpu, ticks in answer["cpu_ticks"].items()},
            "cpu_khz": {int(cpu): khz for cpu, khz in answer["cpu_khz"].items()},
            "usage": {process: Usage(**usage) for process, usage in answer["usage"].items()},
        }
    )
