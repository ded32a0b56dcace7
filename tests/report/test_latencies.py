"""What reports say of the latencies of the machine, on made races in slices."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from deadheat import report
from deadheat.report.findings.cautions import cautions
from deadheat.report.findings.environment import differences
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.store import Store
from tests.report.made import SETTLE, MadeRun

FAR_NS, NEAR_NS = 154.0, 30.0
GAINS = {"a": 1.25, "b": 1.0}  # when the CPUs are near
ROUNDS = 8
CONTROLS = ("null-server", "reference")


def raced(
    folder: Path,
    latency_ns: Callable[[int], float | None],
    memory_ns: Callable[[int], float] = lambda _: 150.0,
    gains: Mapping[str, float] = GAINS,
    last_block: Mapping[str, int] = MappingProxyType({}),
) -> RunView:
    """A race of contenders and two controls; no `latency_ns` of a block where it was not read."""
    generator = random.Random(1)
    with Store(folder / "runs.sqlite") as store:
        run = MadeRun(store, protocol={**SETTLE, "duration_s": 0.1, "slices": {"rounds": ROUNDS}})
        for name in gains:
            run.contender(name)
        for name in CONTROLS:
            run.contender(name, role="control")
        everyone = {**gains, **dict.fromkeys(CONTROLS, 1.0)}
        starts = {(name, n): run.start(name, n) for name in everyone for n in (1, 2, 3)}
        at_s = 0.0
        for block in range(1, 13):
            invocation, apart_ns = 1 + block % 3, latency_ns(block)
            for name, gain in everyone.items():
                if block > last_block.get(name, block):
                    continue
                slices = []
                for round_ in range(1, ROUNDS + 1):
                    at_s += 0.1
                    rate = 1000 * generator.lognormvariate(0, 0.01)
                    slices.append(
                        {
                            "at_s": at_s,
                            "round": (block - 1) * ROUNDS + round_,
                            "rate_per_s": rate * (gain if apart_ns == NEAR_NS else 1.0),
                            "memory_ns": [memory_ns(block)] * 2,
                        }
                        | ({} if apart_ns is None else {"core_to_core_ns": [apart_ns] * 2})
                    )
                run.trial(
                    name,
                    1000.0,
                    invocation=invocation,
                    instance_id=starts[name, invocation],
                    block=block,
                    at_s=at_s,
                    series={"slices": slices},
                )
        return load_view(store, run.end(), whole=True)


def moved(block: int) -> float:
    return FAR_NS if block <= 8 else NEAR_NS


def far(_: int) -> float:
    return FAR_NS


def unread(_: int) -> None:
    return None


def test_a_caution_names_the_contender_that_changes_most(tmp_path: Path) -> None:
    (caution,) = (c for c in cautions(raced(tmp_path, moved)) if c.code == "cpus_moved")
    assert caution.contenders == ("a",)
    assert "154 ns between them in 67 % of the slices and 30 ns in 33 %" in caution.text
    assert "of the time when most contenders raced (67 % at 154 ns)" in caution.text
    assert caution.text.endswith("; a changes most: +25 % at 30 ns")


@pytest.mark.parametrize("latency_ns", [far, unread])
def test_cpus_that_stay_are_no_caution(
    tmp_path: Path, latency_ns: Callable[[int], float | None]
) -> None:
    codes = [caution.code for caution in cautions(raced(tmp_path, latency_ns))]
    assert "cpus_moved" not in codes


def test_json_has_the_placements_with_rates_over_the_first_one(tmp_path: Path) -> None:
    (level,) = json.loads(report.write(raced(tmp_path, moved), "json"))["levels"]
    often, other = level["placements"]
    assert (often["core_to_core_ns"], often["share"]) == (FAR_NS, pytest.approx(8 / 12))
    assert often["share_in_rates"] == often["share"]
    assert often["rate_ratios"] == {"a": 1.0, "b": 1.0}
    assert (other["core_to_core_ns"], other["share"]) == (NEAR_NS, pytest.approx(4 / 12))
    assert other["rate_ratios"]["a"] == pytest.approx(1.25, rel=0.01)
    assert other["rate_ratios"]["b"] == pytest.approx(1.0, rel=0.01)


def test_json_has_one_placement_if_the_cpus_stayed_and_none_if_it_was_not_read(
    tmp_path: Path,
) -> None:
    for name, latency_ns, expected in (("far", far, 1), ("unread", unread, 0)):
        (tmp_path / name).mkdir()
        (level,) = json.loads(report.write(raced(tmp_path / name, latency_ns), "json"))["levels"]
        assert len(level["placements"]) == expected
        assert all(set(p["rate_ratios"].values()) == {1.0} for p in level["placements"])


def test_compare_lists_other_placements_as_a_difference(tmp_path: Path) -> None:
    views = {}
    for latency_ns in (moved, far, unread):
        (tmp_path / latency_ns.__name__).mkdir()
        views[latency_ns] = raced(tmp_path / latency_ns.__name__, latency_ns)
    (difference,) = differences(views[moved], views[far])
    assert difference.what == "core-to-core latency at 100 connections"
    assert difference.first == "30 ns in 33 %, 154 ns in 67 %"
    assert difference.second == "154 ns in 100 %"
    assert not differences(views[moved], views[moved])
    assert not differences(views[moved], views[unread])


def test_memory_that_others_use_is_a_caution(tmp_path: Path) -> None:
    views = {}
    for name, slow_ns in (("quiet", 155.0), ("used", 210.0)):
        (tmp_path / name).mkdir()
        readings = [150.0 if block <= 6 else slow_ns for block in range(13)]
        views[name] = raced(tmp_path / name, far, readings.__getitem__)
    assert "memory_used" not in [caution.code for caution in cautions(views["quiet"])]
    (caution,) = (c for c in cautions(views["used"]) if c.code == "memory_used")
    assert "a read took 150 ns at times and 210 ns at others" in caution.text
    (level,) = json.loads(report.write(views["used"], "json"))["levels"]
    assert level["memory_ns"] == pytest.approx([150, 210])


def test_rates_are_those_of_the_time_when_most_contenders_raced(tmp_path: Path) -> None:
    """Bug: controls, which always race, counted as contenders."""
    view = raced(tmp_path, moved, gains=dict.fromkeys("abcd", 1.0), last_block={"d": 4})
    (level,) = json.loads(report.write(view, "json"))["levels"]
    often, other = level["placements"]
    assert (often["share_in_rates"], other["share_in_rates"]) == (1.0, 0.0)
    assert other["share"] > 0.1
