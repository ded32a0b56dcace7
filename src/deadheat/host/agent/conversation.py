"""Processes that answer each line with a line."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from typing import IO

from .fault import Fault
from .log import read_tail
from .tree import Tree

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
            last_lines = read_tail(self.log_path, 500).strip()
            raise Fault(self.broken, last_lines or None)

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
