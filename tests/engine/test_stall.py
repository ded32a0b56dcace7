"""A server frozen for a known time.

An open loop counts the stall for each waiting request, a closed loop only once per connection
(coordinated omission).
"""

import functools
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from tests.engine.runs import BACKENDS, LIMIT_S, engine_binary, null_server

pytestmark = pytest.mark.alone

CONNECTIONS = 8
RATE_PER_S = 1000
STALL_S = 0.6
DURATION_S = 2
HDR_ERROR = 0.001  # three digits


@dataclass(frozen=True)
class Stall:
    """CLOCK_MONOTONIC seconds around the calls; the server stood still from the second to the
    third of them, and not before the first."""

    before_stop_s: float
    after_stop_s: float
    before_resume_s: float

    @property
    def least_s(self) -> float:
        return self.before_resume_s - self.after_stop_s


@functools.cache  # several tests read the result
def run_with_stall(*pace: str, backend: str) -> tuple[dict[str, Any], Stall]:
    """The engine's document of a run in which the server was frozen."""
    with null_server() as server:
        command = [engine_binary(), server.url, "--stream", "-c", f"{CONNECTIONS}", *pace]
        command += ["-d", f"{DURATION_S}s", "--warmup", "0s", "--backend", backend]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as engine:
            assert engine.stdout is not None
            assert engine.stderr is not None
            if not any(json.loads(line).get("ok") for line in engine.stdout):
                pytest.skip(engine.stderr.read())
            stall = freeze(server.process)
            document = json.loads(engine.stdout.read().splitlines()[-1])["document"]
            engine.wait(LIMIT_S)
    assert document["classes"]["ok"] == document["requests"]["scheduled"]
    return document, stall


def freeze(process: subprocess.Popen[str]) -> Stall:
    before_stop_s = time.monotonic()
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    after_stop_s = time.monotonic()
    time.sleep(STALL_S)
    before_resume_s = time.monotonic()
    process.send_signal(signal.SIGCONT)
    return Stall(before_stop_s, after_stop_s, before_resume_s)


def above(document: dict[str, Any], name: str, least_s: float) -> int:
    """How many values of a histogram are above `least_s` seconds."""
    histogram = HdrHistogram.decode(document["latency"][name]["hdr_v2_base64"])
    values = histogram.get_recorded_iterator()
    return sum(v.count_at_value_iterated_to for v in values if v.value_iterated_to > least_s * 1e6)


def caught_up_s(document: dict[str, Any], stall: Stall) -> float:
    """When all that was due had been answered again, by the engine's rows; CLOCK_MONOTONIC."""
    phases = {phase["name"]: phase for phase in document["phases"]}
    start_s = phases["measure"]["start_ns"] / 1e9
    answered = 0
    caught_up = False
    for row in document["series"]:
        end_s = start_s + row["at_s"]
        # A row may be counted a little late, so what it counts was there by the next one's end.
        if caught_up:
            return float(end_s)
        answered += row["ok"]
        due = RATE_PER_S * min(row["at_s"], DURATION_S)
        caught_up = end_s > stall.before_resume_s and answered >= due - CONNECTIONS
    raise AssertionError("the backlog was never worked off")


@BACKENDS
def test_open_loop_counts_a_stall_for_all_waiting_requests(backend: str) -> None:
    """A request due t after the server froze for D waits D - t: with R due a second, R (D - x)
    wait longer than x, so that the (1 - p)-quantile of T seconds is D - p T."""
    document, stall = run_with_stall("--rate", f"{RATE_PER_S}", backend=backend)
    longest_s = caught_up_s(document, stall) - stall.before_stop_s
    for share in (0.25, 0.5, 0.75):
        x_s = share * STALL_S
        waited = above(document, "response_us", x_s)
        assert waited >= RATE_PER_S * (stall.least_s - x_s * (1 + HDR_ERROR)) - 1
        assert waited <= RATE_PER_S * (longest_s - x_s * (1 - HDR_ERROR)) + 1


@BACKENDS
def test_response_time_is_send_lag_plus_service_time(backend: str) -> None:
    """Each response time is the lag of its send plus its service time, so it is longer than x
    wherever the lag is, and nowhere where the lag is at most x - s and the service time s."""
    document, _ = run_with_stall("--rate", f"{RATE_PER_S}", backend=backend)
    for share in (0.25, 0.5, 0.75):
        x_s = share * STALL_S
        s_s = x_s / 10
        waited = above(document, "response_us", x_s)
        assert waited >= above(document, "send_lag_us", x_s * (1 + HDR_ERROR))
        late = above(document, "send_lag_us", (x_s - s_s) * (1 - HDR_ERROR))
        assert waited <= late + above(document, "service_us", s_s * (1 - HDR_ERROR))


@BACKENDS
@pytest.mark.parametrize("pace", [[], ["--rate", f"{RATE_PER_S}"]], ids=["closed", "open"])
def test_service_times_show_a_stall_once_per_connection(pace: list[str], backend: str) -> None:
    """What a closed loop does not ask it does not see."""
    document, _ = run_with_stall(*pace, backend=backend)
    assert above(document, "service_us", STALL_S / 2) == CONNECTIONS
