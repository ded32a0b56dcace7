"""Evidence of a good trial, with given changes, for the tests of gates; worlds of made hosts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deadheat.host import Completed, Exchange, Host, Sample, Usage
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import judge
from deadheat.measure.world import Link, LoadSide, World
from deadheat.store import Gate

LINK = Link(round_trip_us=50.0, bytes_per_s=1e9)


def made_world(server_host: Host, *load_hosts: Host, **values: Any) -> World:
    """Server CPU 0, and CPU 1 of each load host; without one, the server host loads itself."""
    engine, logs = Engine("deadheat-load"), Path("/logs")
    known: dict[str, Any] = {
        "server_cpus": (0,),
        "loads": tuple(LoadSide(h, (1,), engine, logs) for h in load_hosts or (server_host,)),
        "generator": engine,
        "generator_version": "1",
        "engine_version": "1",
        "server_engine": engine,
        "logs": logs,
    }
    return World(server_host=server_host, **{**known, **values})


def on_fake_host(world: World, server: FakeServer, host: FakeHost | None = None) -> World:
    """The world with a fake host, on which each command starts this server."""
    host = host or FakeHost()
    host.on_start(lambda _: True, lambda *_: server)
    return replace(world, server_host=host)


class AnsweringHost(FakeHost):
    """Answers a port, a request and a patience as `answers` says, and as a fake host where that
    says None."""

    def __init__(self, answers: Callable[[int, bytes, float], Exchange | None]) -> None:
        super().__init__()
        self.answers = answers

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        answer = self.answers(address[1], payload, silence_s)
        return answer or super().exchange(address, payload, silence_s, deadline_s)


def sample(
    at_s: float,
    ticks: Mapping[str, int] | None = None,
    server_cpu_s: float = 0.0,
    network: Mapping[str, int] | None = None,
) -> Sample:
    """A sample of two CPUs; `ticks` are CPU 0's."""
    fields = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    busy = tuple((ticks or {}).get(field, 0) for field in fields)
    counters = dict.fromkeys(("ListenDrops", "ListenOverflows", "RetransSegs"), 7)
    return Sample(
        at_s=at_s,
        cpu_ticks={0: busy, 1: (0,) * 8},
        cpu_khz={},
        usage={"1": Usage(server_cpu_s, 0, 0, 1, 1)},
        network=counters | dict(network or {}),
        pressure_cpu_us=None,
        memory_available_bytes=1 << 33,
        throttled=0,
    )


def evidence(
    result: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    last: Sample | None = None,
    **others: Any,
) -> Evidence:
    """A good trial of one second at 10 connections, with the given changes."""
    good: dict[str, Any] = {
        "generator": "engine",
        "version": "1",
        "rate_per_s": 10_000.0,
        "requests_ok": 10_000,
        "elapsed_s": 1.0,
        "errors": {},
        "service_us": {"mean": 1000.0, "p50": 900.0},
        "connections_established": 10,
        "connections_served": 10,
        "busiest_thread_share": 0.5,
        "run_wait_share": 0.001,
        "little_law_error": -0.002,
        "skew_us": 2000.0,
    }
    load: dict[str, Any] = {"url": "http://127.0.0.1/", "connections": 10, "duration_s": 1.0}
    readings: dict[str, Any] = {
        "generator": Completed(0, "", "", elapsed_s=1.0, cpu_s=0.5),
        "samples": (sample(0.0), last or sample(1.0, {"user": 100}, server_cpu_s=0.5)),
        "cpus": (0, 1),
        "ceiling_per_s": 50_000.0,
        "clock_khz": (2_990_000, 3_000_000, 800_000),
        "clock_khz_max": 3_100_000.0,
        "workers_gone": 0,
        "link": LINK,
    }
    return Evidence(
        LoadSpec(**load | dict(spec or {})),
        LoadResult(**good | dict(result or {})),
        **readings | others,
    )


def gate_of(code: str, of: Evidence) -> Gate:
    return next(gate for gate in judge(of) if gate.code == code)


def codes(of: Evidence) -> set[str]:
    return {gate.code for gate in judge(of)}
