"""The command line of the agent."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys

from .containment import CONTAINMENTS, Containment
from .fault import Fault
from .heap import share_heap
from .namespaces import enter_network_namespace
from .requests import Agent
from .session import Session
from .silence import Silence


def isolate() -> None:
    try:
        enter_network_namespace()
    except (Fault, OSError) as error:
        raise Fault(
            f"this host gives no network namespace: {error}",
            "run as root, allow user namespaces, or omit --isolate",
        ) from error


def session(agent: Agent, silence_s: float | None) -> Session:
    if silence_s is None:
        return Session(agent)
    silence = Silence(silence_s, agent.close)
    silence.start()
    return Session(agent, silence.hear)


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
            session(agent, options.silence).serve(sys.stdin.buffer)
    finally:
        clean = agent.close()
    return 0 if clean else 1
