"""`deadheat doctor` on machines that are made up."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from unittest import mock

from deadheat.host.doctor import Machine, Tool
from tests.golden.command_line import CommandLine, Output, session
from tests.host.test_doctor import machine

TLS = "TLS 1.3 with TLS_AES_128_GCM_SHA256, or TLS 1.2, by rustls and ring"
GOOD = replace(
    machine(),
    tools=(Tool("engine", "engine 0.1.0", "uv sync builds it", True),),
    transports=f"http, https, h2, h2c; {TLS}",
    cpu_features="flags\t\t: fpu aes\n",
)
BAD = replace(
    machine(
        {"allowed": [0], "virtual_machine": True, "governors": ["powersave"], "turbo": True,
         "siblings": {"0": "0-1", "1": "0-1"}},
        {"net.core.somaxconn": "128", "net.ipv4.tcp_max_syn_backlog": "128",
         "kernel.io_uring_disabled": "2"},
        load_average=[3.0, 3.0, 3.0],
        clocksource="hpet",
        containment="none",
        open_files_hard=1024,
    ),
    tools=(
        Tool("engine", None, "uv sync builds it", True),
        Tool("wrk", None, "apt-get install wrk", False),
    ),
    cpu_features="Features\t: fp asimd\n",
)  # fmt: skip


def _doctor(machine: Machine, arguments: Sequence[str], line: CommandLine) -> str:
    with mock.patch("deadheat.cli.doctor.look_at", return_value=machine):
        return session(["doctor", *arguments], line)


MACHINES: dict[str, Output] = {
    "doctor/good.txt": partial(_doctor, GOOD, []),
    "doctor/bad.txt": partial(_doctor, BAD, ["--strict"]),
    "doctor/bad.json": partial(_doctor, BAD, ["--json"]),
}
