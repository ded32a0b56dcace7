"""Commands that measure, in a world without processes."""

import shutil
from contextlib import nullcontext
from functools import partial
from unittest import mock

from deadheat.host.fake import FakeServer
from tests.campaign.fake_world import GREETING, FakeWorld, greet
from tests.golden.command_line import CommandLine, Output, session
from tests.golden.scrub import ROOT
from tests.report.made import FINGERPRINT

RATES = {"alpha": 9000.0, "beta": 8990.0, "gamma": 3000.0}
FAILING = {
    "delta": FakeServer(answer=lambda _: b"HTTP/1.1 500 Oops\r\n\r\n", log="broken"),
    "epsilon": FakeServer(dies_after_s=0.0, exit_code=1, log="cannot read epsilon.conf"),
    "zeta": FakeServer(answer=lambda _: GREETING.replace(b"World", b"Earth")),
    "eta": FakeServer(),
}
QUICK = ["--protocol", "quick", "--seed", "1"]


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
}
