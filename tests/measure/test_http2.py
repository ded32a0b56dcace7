"""Checks over HTTP/2 by the load engine: how long it may wait."""

from types import SimpleNamespace
from typing import cast

from deadheat.host import Completed, ProcessSpec
from deadheat.load import Engine
from deadheat.measure.http2 import http2_fault
from deadheat.measure.world import World
from deadheat.workload.model import Request


def test_bug_a_check_ended_before_the_timeout_of_its_request() -> None:
    """A server that never answered had "ended with None and printed no result"."""
    limits_s = []

    def run(_: ProcessSpec, limit_s: float) -> Completed:
        limits_s.append(limit_s)
        return Completed(3, "", "no answer", limit_s, 0.0)

    host = SimpleNamespace(run=run)
    world = SimpleNamespace(server_host=host, server_engine=Engine(), engine_version="1")
    http2_fault(cast(World, world), "http://127.0.0.1:1/", (), Request(path="/"), 90.0)
    assert min(limits_s) > 90
