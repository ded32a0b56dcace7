"""Commands that measure, in a world without processes, and `doctor` on made machines."""

import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from unittest import mock

from deadheat.host.doctor import Machine, Tool
from deadheat.host.fake import FakeServer
from tests.campaign.fake_world import GREETING, FakeWorld, greet
from tests.golden.command_line import CommandLine, Output, session
from tests.golden.scrub import ROOT
from tests.host.test_doctor import machine
from tests.report.made import FINGERPRINT

RATES = {"alpha": 9000.0, "beta": 8990.0, "gamma": 3000.0}
FAILING = {
    "delta": FakeServer(answer=lambda _: b"HTTP/1.1 500 Oops\r\n\r\n", log="broken"),
    "epsilon": FakeServer(dies_after_s=0.0, exit_code=1, log="cannot read epsilon.conf"),
    "zeta": FakeServer(answer=lambda _: GREETING.replace(b"World", b"Earth")),
    "eta": FakeServer(),
}
QUICK = ["--protocol", "quick", "--seed", "1"]
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


def _measured(arguments: list[str], line: CommandLine) -> str:
    return _in(_world(line), arguments, line)


def _interrupted(line: CommandLine) -> str:
    """A run that the user ends in its second block, and goes on with."""
    fake = _world(line)

    def interrupt(*_: object) -> None:
        if len(fake.slices) == 60:
            raise KeyboardInterrupt

    fake.before_slice = interrupt
    first = _in(fake, ["run", "alpha", "beta", *QUICK], line)
    fake.before_slice = lambda *_: None
    return first + _in(fake, ["resume", "20"], line)


def _world(line: CommandLine) -> FakeWorld:
    """Three servers that work, and one for each way to fail. Its folder is a catalog."""
    catalog = line.folder / "catalog"
    catalog.mkdir()
    fake = FakeWorld(catalog, **RATES, **dict.fromkeys(FAILING, 1000.0))
    fake.rates |= {"null-server": 1e6, "reference": 1500.0}
    fake.servers |= {name: FakeServer(answer=greet) for name in ("null-server", "reference")}
    fake.servers |= FAILING
    shutil.copytree(ROOT / "protocols", catalog / "protocols")
    return fake


def _in(fake: FakeWorld, arguments: list[str], line: CommandLine) -> str:
    name = arguments[0]
    module = "execution" if name in ("run", "resume") else name
    stores = name != "verify"
    store = ("--store", "runs.sqlite") if stores else ()
    with (
        mock.patch(f"deadheat.cli.{module}.world_on", return_value=nullcontext(fake.world)),
        mock.patch.object(fake.host, "fingerprint", return_value=FINGERPRINT),
    ):
        return session([*arguments, "--catalog", "catalog", *store], line, observed=stores)


def _doctor(machine: Machine, arguments: Sequence[str], line: CommandLine) -> str:
    with mock.patch("deadheat.cli.doctor.look_at", return_value=machine):
        return session(["doctor", *arguments], line)


MEASURED: dict[str, Output] = {
    "run/quick.txt": partial(_measured, ["run", "alpha", "beta", "delta", *QUICK]),
    "run/settle.txt": partial(
        _measured, ["run", "alpha", "beta", "gamma", "--seed", "1", "--latency"]
    ),
    "run/interrupted.txt": _interrupted,
    "run/nothing-works.txt": partial(_measured, ["run", "delta", *QUICK]),
    "capacity/search.txt": partial(_measured, ["capacity", "alpha", "gamma"]),
    "capacity/search.json": partial(_measured, ["capacity", "alpha", "--json"]),
    "verify/outcomes.txt": partial(_measured, ["verify", "alpha", *FAILING, "--load", "10"]),
    "verify/outcomes.json": partial(_measured, ["verify", "alpha", "delta", "--json"]),
    "doctor/good.txt": partial(_doctor, GOOD, []),
    "doctor/bad.txt": partial(_doctor, BAD, ["--strict"]),
    "doctor/bad.json": partial(_doctor, BAD, ["--json"]),
}
