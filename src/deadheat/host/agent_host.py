"""A host behind an agent: JSON lines over whatever command starts the agent there."""

import base64
import collections
import contextlib
import itertools
import json
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from deadheat.host.base import Completed, Exchange, Exited, HostError, ProcessSpec, Sample, Usage

AGENT_END_DEADLINE_S = 60.0  # more than the agent's own bounds on killing what it holds


class AgentHost:
    """Implements `Host` by asking an agent; may be used from several threads at once.

    `command` starts the agent with its standard input and output on pipes, here or elsewhere.
    The agent has a session of its own, so a Ctrl-C at the terminal reaches neither it nor what
    it started. Leaving the context, or dying in any way, ends all of it.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._numbers = itertools.count(1)
        self._greeting: Future[Any] = Future()
        self._replies: dict[int, Future[Any]] = {0: self._greeting}
        self._lock = threading.Lock()
        self._complaints: collections.deque[str] = collections.deque(maxlen=40)
        try:
            self._agent = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"cannot start the agent by {command[0]}: {error.strerror}") from error
        self._listener = threading.Thread(target=self._listen_to_complaints, daemon=True)
        self._reader = threading.Thread(target=self._read_replies, daemon=True)
        self._listener.start()
        self._reader.start()
        try:
            self._containment = str(self._greeting.result()["containment"])
        except BaseException:
            self.close()
            raise

    @property
    def containment(self) -> str:
        return self._containment

    def fingerprint(self) -> dict[str, Any]:
        return dict(self._ask("fingerprint"))

    def run(self, spec: ProcessSpec, timeout_s: float) -> Completed:
        return Completed(**self._ask("run", spec=asdict(spec), timeout_s=timeout_s))

    def start(self, spec: ProcessSpec, log_path: str) -> str:
        return str(self._ask("start", spec=asdict(spec), log_path=log_path))

    def converse(self, spec: ProcessSpec, log_path: str) -> str:
        return str(self._ask("converse", spec=asdict(spec), log_path=log_path))

    def ask(self, process: str, line: str | None, deadline_s: float) -> str:
        return str(self._ask("ask", process=process, line=line, deadline_s=deadline_s))

    def compiler_cpu_s(self, process: str) -> float | None:
        seconds = self._ask("compiler_cpu_s", process=process)
        return None if seconds is None else float(seconds)

    def alive(self, process: str) -> Exited | None:
        exited = self._ask("alive", process=process)
        return None if exited is None else Exited(**exited)

    def usage(self, process: str) -> Usage:
        return Usage(**self._ask("usage", process=process))

    def freeze(self, process: str) -> None:
        self._ask("freeze", process=process)

    def thaw(self, process: str) -> None:
        self._ask("thaw", process=process)

    def stop(self, process: str, signal: str, deadline_s: float) -> Exited:
        return Exited(
            **self._ask("stop", process=process, signal_name=signal, deadline_s=deadline_s)
        )

    def watch(self, processes: Sequence[str], interval_s: float) -> str:
        return str(self._ask("watch", processes=list(processes), interval_s=interval_s))

    def unwatch(self, watch: str) -> list[Sample]:
        return [sample_from(answer) for answer in self._ask("unwatch", watch=watch)]

    def exchange(self, address: tuple[str, int], payload: bytes, silence_s: float) -> Exchange:
        host, port = address
        text = base64.b64encode(payload).decode()
        answer = self._ask("exchange", host=host, port=port, payload=text, silence_s=silence_s)
        return Exchange(base64.b64decode(answer["received"]), answer["closed"])

    def free_port(self) -> int:
        return int(self._ask("free_port"))

    def read_tail(self, path: str, size_bytes: int) -> str:
        return str(self._ask("read_tail", path=path, size_bytes=size_bytes))

    def now_s(self) -> float:
        return time.monotonic()

    def sleep(self, duration_s: float) -> None:
        time.sleep(duration_s)

    def close(self) -> None:
        """End the agent and with it everything it started. Harmless when repeated.

        Raises `HostError` where the agent could not kill all of it.
        """
        assert self._agent.stdin is not None
        lived = self._agent.poll() is None
        with contextlib.suppress(BrokenPipeError):
            self._agent.stdin.close()
        try:
            self._agent.wait(AGENT_END_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            self._agent.kill()
            raise HostError(
                f"the agent did not end within {AGENT_END_DEADLINE_S:.0f} s and was killed",
                "what it left behind is swept when the next run starts",
            ) from error
        self._reader.join()
        self._listener.join()
        if lived and self._agent.returncode:
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

    def _ask(self, request: str, **arguments: Any) -> Any:
        reply: Future[Any] = Future()
        number = next(self._numbers)
        line = json.dumps({"id": number, "do": request, **arguments}) + "\n"
        assert self._agent.stdin is not None
        with self._lock:
            self._replies[number] = reply
            try:
                self._agent.stdin.write(line)
                self._agent.stdin.flush()
            except (BrokenPipeError, ValueError):  # ValueError: this host was closed
                del self._replies[number]
                raise self._gone() from None
        return reply.result()

    def _read_replies(self) -> None:
        assert self._agent.stdout is not None
        with self._agent.stdout as lines:
            for line in lines:
                answer = json.loads(line)
                with self._lock:
                    reply = self._replies.pop(answer["id"])
                if "error" in answer:
                    reply.set_exception(HostError(**answer["error"]))
                else:
                    reply.set_result(answer["ok"])
        self._agent.wait()
        self._listener.join()
        with self._lock:
            unanswered, self._replies = self._replies, {}
        for reply in unanswered.values():
            reply.set_exception(self._gone())

    def _listen_to_complaints(self) -> None:
        assert self._agent.stderr is not None
        with self._agent.stderr as lines:
            self._complaints.extend(lines)

    def _gone(self) -> HostError:
        complaints = "".join(self._complaints).strip()
        return HostError(
            f"the agent is gone (exit code {self._agent.poll()})",
            f"its last words: {complaints}" if complaints else None,
        )


def sample_from(answer: dict[str, Any]) -> Sample:
    """A `Sample` from its JSON, where every key is a string."""
    return Sample(
        **answer
        | {
            "cpu_ticks": {int(cpu): tuple(ticks) for cpu, ticks in answer["cpu_ticks"].items()},
            "cpu_khz": {int(cpu): khz for cpu, khz in answer["cpu_khz"].items()},
            "usage": {process: Usage(**usage) for process, usage in answer["usage"].items()},
        }
    )
