from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.protocol import AloneProtocol, Fixed, SliceProtocol, amend, load_as, load_protocol

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture
def kzmake() -> AloneProtocol:
    return load_as(HERE, "kzmake-2018", AloneProtocol)


@pytest.fixture
def landshark() -> AloneProtocol:
    return load_as(HERE, "landshark-2009", AloneProtocol)


def test_label_of_unchanged_replay_has_its_aggregate(kzmake: AloneProtocol) -> None:
    assert kzmake.label == "replay of kzmake-2018, best of 5"
    assert amend(kzmake, {}, {}) == kzmake


def test_scale_multiplies_durations_and_is_in_the_label(kzmake: AloneProtocol) -> None:
    scaled = amend(kzmake, {}, {}, scale=0.1)
    assert scaled.duration_s == 3
    assert scaled.timeout_s == kzmake.timeout_s  # a limit, not a duration
    assert scaled.label == "replay of kzmake-2018, best of 5, scaled 0.1"


def test_wrk_and_ab_get_whole_seconds(kzmake: AloneProtocol) -> None:
    assert amend(kzmake, {}, {}, scale=0.001).duration_s == 1
    assert amend(kzmake, {"generator": "engine"}, {}, scale=0.01).duration_s == pytest.approx(0.3)


def test_another_generator_drops_arguments_and_request_cap(landshark: AloneProtocol) -> None:
    assert (landshark.arguments, landshark.request_cap) == (("-r",), 50_000)
    changed = amend(landshark, {"generator": "engine"}, {})
    assert (changed.arguments, changed.request_cap) == ((), None)
    assert changed.label.endswith(", engine instead of ab")


def test_request_cap_stays_until_it_is_lifted(landshark: AloneProtocol) -> None:
    assert amend(landshark, {}, {}).request_cap == 50_000
    lifted = amend(landshark, {}, {}, lift_cap=True)
    assert lifted.request_cap is None
    assert lifted.deviations == ("without the cap of 50,000 requests",)


def test_a_scale_that_leaves_a_level_without_a_result_is_refused(landshark: AloneProtocol) -> None:
    """At 20,000 connections, 33 of 33 trials of a replay scaled by 0.1 had no result."""
    with pytest.raises(DeadheatError, match="cannot open 20,000 connections in 1 s") as refused:
        amend(landshark, {}, {}, scale=0.1)
    assert refused.value.hint == (
        "leave it out with --connections 100,1000,10000, or omit --duration-scale"
    )
    kept = (100, 1000, 10_000)
    assert amend(landshark, {"connections": kept}, {}, scale=0.1).connections == kept


def test_replay_lists_every_change(kzmake: AloneProtocol) -> None:
    changed = amend(
        kzmake,
        {"connections": (10,), "threads": 1, "duration_s": 5.0, "keep_alive": False},
        {"repetitions": 2},
    )
    assert changed.deviations == (
        "10 connections instead of 10, 100, 1000",
        "1 load threads instead of 4",
        "a connection per request",
        "5 s instead of 30 s",
        "published with 5 repetitions",
    )


def test_protocol_without_origin_has_no_deviations() -> None:
    changed = amend(load_protocol(HERE, "settle"), {"duration_s": 1.0}, {})
    assert (changed.deviations, changed.label) == ((), "settle")


@pytest.mark.parametrize(
    ("key", "value"), [("invocations", 2), ("budget_s", 60.0), ("margin", 0.05)]
)
def test_a_replay_has_no_starts_budget_or_margin(
    kzmake: AloneProtocol, key: str, value: float
) -> None:
    with pytest.raises(DeadheatError, match="runs one server after the other") as caught:
        amend(kzmake, {}, {key: value})
    assert caught.value.hint == f"omit --{key.removesuffix('_s')}"


@pytest.mark.parametrize("name", ["settle", "quick", "long"])
def test_a_race_needs_our_engine(name: str) -> None:
    with pytest.raises(DeadheatError, match=f"--generator wrk: protocol {name} needs our engine"):
        amend(load_protocol(HERE, name), {"generator": "wrk"}, {})
    assert amend(load_protocol(HERE, name), {"generator": "engine"}, {}).name == name


def test_repetitions_replace_the_budget_of_a_race_to_settle() -> None:
    settle = load_as(HERE, "settle", SliceProtocol)
    stopping = amend(settle, {}, {"kind": "fixed", "repetitions": 5}).stopping
    assert isinstance(stopping, Fixed)
    assert (stopping.repetitions, stopping.invocations) == (5, settle.stopping.invocations)
    assert stopping.time_limit_s == float("inf")
    with pytest.raises(DeadheatError, match="--budget: protocol settle ends after 5 repetitions"):
        amend(settle, {}, {"kind": "fixed", "repetitions": 5, "budget_s": 60.0})
