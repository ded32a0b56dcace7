"""The command line of the agent, and the lines that it reads and writes: one JSON object each."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import time
from typing import IO

from .containment import CONTAINMENTS, Containment
from .init import enter_network_namespace
from .program import LEFT_RUNNING, Fault, Json
from .requests import Agent

M_ARENA_MAX = -8  # malloc.h of glibc
CHECKS = 10  # in the time of a silence
HEARTBEAT = "beat"  # a line without an id, which is not answered


def share_heap() -> None:
    """Let all threads use one heap. Without glibc, do nothing.

    glibc gives its threads up to eight heaps a CPU. Each request has a thread, so in a race of
    hours every heap in turn grew to the size of the largest answer.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


class Session:
    """Reads requests and answers each in its own thread, one line at a time."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.heard_s = time.monotonic()
        self.writing = threading.Lock()

    def await_silence(self, silence_s: float) -> None:
        """End the agent and the process after this long without a line."""
        while time.monotonic() - self.heard_s < silence_s:
            time.sleep(silence_s / CHECKS)
        try:
            self.agent.close()
        finally:
            os._exit(1)

    def serve(self, lines: IO[bytes], silence_s: float | None) -> None:
        if silence_s is not None:
            threading.Thread(target=self.await_silence, args=(silence_s,), daemon=True).start()
        self.reply({"id": 0, "ok": {"containment": self.agent.containment.name}})
        for line in lines:
            self.heard_s = time.monotonic()
            request = json.loads(line)
            if request["do"] != HEARTBEAT:
                threading.Thread(target=self.answer, args=(request,), daemon=True).start()

    def answer(self, request: Json) -> None:
        number, name = request.pop("id"), request.pop("do")
        try:
            if name not in self.agent.requests:
                raise Fault(f"unknown request: {name}")
            self.reply({"id": number, "ok": self.agent.requests[name](**request)})
        except Fault as fault:
            self.reply({"id": number, "error": fault.as_json()})
        except Exception as error:
            message = f"the agent failed in {name}: {type(error).__name__}: {error}"
            self.reply({"id": number, "error": {"message": message, "hint": None}})

    def reply(self, answer: Json) -> None:
        with self.writing, contextlib.suppress(BrokenPipeError):
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def isolate() -> None:
    try:
        enter_network_namespace()
    except (Fault, OSError) as error:
        raise Fault(
            f"this host gives no network namespace: {error}",
            "run as root, allow user namespaces, or omit --isolate",
        ) from error


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The process agent of deadheat.")
    parser.add_argument(
        "--containment",
        choices=CONTAINMENTS,
        help="way to contain processes; default: the first that works",
    )
    parser.add_argument(
        "--isolate", action="store_true", help="work in a network namespace with only loopback"
    )
    parser.add_argument(
        "--silence", type=float, help="end after this many seconds without a line of input"
    )
    options = parser.parse_args(arguments)
    share_heap()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        if options.isolate:
            isolate()
        agent = Agent(Containment(options.containment), options.isolate)
    except Fault as fault:
        print(json.dumps({"id": 0, "error": fault.as_json()}), flush=True)
        return 1
    try:
        with contextlib.suppress(SystemExit):
            Session(agent).serve(sys.stdin.buffer, options.silence)
    finally:
        clean = agent.close()
    return 0 if clean else LEFT_RUNNING
