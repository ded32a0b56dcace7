"""The rule of `python -m bench.long_run`, and one that follows a made race."""

import argparse
import os
import random
import sys
from pathlib import Path

import pytest

from bench import long_run
from bench.growth import counts_are_flat, growth
from bench.long_run import judged, measure, shown
from bench.never_settling import never_settling
from bench.process_use import Sample, Use, sample
from deadheat.protocol import Settle, SliceProtocol, load_as
from deadheat.store import Store
from tests.report.made import MadeRun

MIB = 1 << 20
TWO_HOURS = [10.0 * number for number in range(720)]


def noisy(mib_per_h: float) -> list[float]:
    order = random.Random(1)
    return [MIB * (100 + mib_per_h * at_s / 3600 + order.gauss(0, 1)) for at_s in TWO_HOURS]


def samples(mib_per_h: float, descriptors_per_h: float = 0.0) -> list[Sample]:
    return [
        Sample(at_s, Use(rss, rss, 20 + int(descriptors_per_h * at_s / 3600), 4), 1)
        for at_s, rss in zip(TWO_HOURS, noisy(mib_per_h), strict=True)
    ]


def test_slope_is_per_hour_and_within_its_interval() -> None:
    grown = growth(TWO_HOURS, noisy(20))
    assert grown.per_h is not None
    assert grown.low_per_h is not None
    assert grown.high_per_h is not None
    assert grown.per_h == pytest.approx(20 * MIB, rel=0.05)
    assert grown.low_per_h < 20 * MIB < grown.high_per_h


@pytest.mark.parametrize(
    ("mib_per_h", "descriptors_per_h", "passes"),
    [(0, 0, True), (1, 0, True), (20, 0, False), (0, 8, False)],
)
def test_growing_memory_or_descriptors_fail(
    mib_per_h: float, descriptors_per_h: float, passes: bool
) -> None:
    assert judged(samples(mib_per_h, descriptors_per_h), skip_s=600)["pass"] is passes


def test_the_first_minutes_do_not_count() -> None:
    starting = [Sample(at_s, Use(MIB, MIB, 3, 1), 1) for at_s in (0.0, 10.0)]
    late = [Sample(each.at_s + 600, each.mean, 1) for each in samples(0)]
    assert judged([*starting, *late], skip_s=600)["rss_bytes"]["first"] > 90 * MIB


def test_too_few_samples_fail() -> None:
    assert growth([0, 10], [1, 1]).per_h is None
    assert not growth([0, 10], [1, 1]).is_flat


def test_a_passing_peak_of_descriptors_is_flat() -> None:
    assert counts_are_flat([9, 9, 9, 9, 30, 9, 9, 9])
    assert not counts_are_flat([9, 9, 9, 9, 30, 12, 12, 12])


def test_a_process_that_ended_is_left_out() -> None:
    both = sample([os.getpid(), 2**22 + 1], at_s=0.0)
    assert both is not None
    assert both.processes == 1
    assert sample([2**22 + 1], at_s=0.0) is None


def test_protocol_never_settles(tmp_path: Path) -> None:
    path = never_settling(tmp_path, "settle")
    stopping = load_as(tmp_path, str(path), SliceProtocol).stopping
    assert isinstance(stopping, Settle)
    assert (stopping.margin, stopping.confidence) == (0.0001, 0.999999999)
    with pytest.raises(ValueError, match="until the order is settled"):
        never_settling(tmp_path, "quick")


MADE_RACE = """
import os, shutil, sys, time
store = sys.argv[sys.argv.index("--store") + 1]
shutil.copy(os.environ["MADE_STORE"], store + ".part")
os.rename(store + ".part", store)
time.sleep(60)
"""


def test_a_race_is_followed_beside_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race is a process that only stores a made run, and is interrupted."""
    made = tmp_path / "made.sqlite"
    with Store(made) as store:
        MadeRun(store).race({"alpha": 1000, "beta": 2000}, invocations=1, blocks=3)
        store.settle()
    monkeypatch.setenv("MADE_STORE", str(made))
    monkeypatch.setenv("DEADHEAT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(long_run, "END_S", 0.0)
    monkeypatch.setattr(long_run, "RACE", (sys.executable, "-c", MADE_RACE))
    options = argparse.Namespace(
        servers=["alpha", "beta"], hours=1.5 / 3600, interval=0.1, fetch=0.5, skip=0.0,
        protocol="settle",
    )  # fmt: skip
    outcome = measure(tmp_path, options)
    assert {*outcome["processes"]} == {"cli", "serve"}  # the made race has no agent
    assert outcome["processes"]["cli"]["rss_bytes"]["per_h"] is not None
    assert outcome["store"]["trials"] == 6
    assert outcome["pages"]["fetched"] > 0
    assert outcome["pages"]["faults"] == []
    rows = [line.split()[0] for line in shown(outcome).splitlines()[5:7]]
    assert rows == ["cli", "serve"]
