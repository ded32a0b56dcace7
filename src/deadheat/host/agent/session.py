"""Reads requests and writes answers, one JSON object a line."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from typing import IO, Callable  # noqa: UP035 (for 3.8)

from .fault import Fault, Json
from .requests import Agent

HEARTBEAT = "beat"  # a line without an id, which is not answered


class Session:
    """Reads requests and answers each in its own thread, one line at a time."""

    def __init__(self, agent: Agent, hear: Callable[[], None] = lambda: None) -> None:
        self.agent = agent
        self.hear = hear
        self.writing = threading.Lock()

    def serve(self, lines: IO[bytes]) -> None:
        self.reply({"id": 0, "ok": {"containment": self.agent.containment.name}})
        for line in lines:
            self.hear()
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
