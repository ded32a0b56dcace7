from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.protocol import Protocol, amend, load_protocol

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture
def kzmake() -> Protocol:
    return load_protocol(HERE, "kzmake-2018")


@pytest.fixture
def landshark() -> Protocol:
    return load_protocol(HERE, "landshark-2009")


def test_label_of_unchanged_replay_has_its_aggregate(kzmake: Protocol) -> None:
    assert kzmake.label == "replay of kzmake-2018, best of 5"
    assert amend(kzmake, {}, {}) == kzmake


def test_scale_multiplies_durations_and_is_in_the_label(kzmake: Protocol) -> None:
    scaled = amend(kzmake, {}, {}, scale=0.1)
    assert scaled.duration_s == 3
    assert scaled.timeout_s == kzmake.timeout_s  # a limit, not a duration
    assert scaled.label == "replay of kzmake-2018, best of 5, scaled 0.1"


def test_wrk_and_ab_get_whole_seconds(kzmake: Protocol) -> None:
    assert amend(kzmake, {}, {}, scale=0.001).duration_s == 1
    assert amend(kzmake, {"generator": "engine"}, {}, scale=0.01).duration_s == pytest.approx(0.3)


def test_another_generator_drops_arguments_and_request_cap(landshark: Protocol) -> None:
    assert (landshark.arguments, landshark.request_cap) == (("-r",), 50_000)
    changed = amend(landshark, {"generator": "engine"}, {})
    assert (changed.arguments, changed.request_cap) == ((), None)
    assert changed.label.endswith(", engine instead of ab")


def test_request_cap_stays_until_it_is_lifted(landshark: Protocol) -> None:
    assert amend(landshark, {}, {}).request_cap == 50_000
    lifted = amend(landshark, {}, {}, lift_cap=True)
    assert lifted.request_cap is None
    assert lifted.deviations == ("without the cap of 50,000 requests",)


def test_replay_lists_every_change(kzmake: Protocol) -> None:
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


def test_rejects_invocations_for_residency_alone(kzmake: Protocol) -> None:
    with pytest.raises(DeadheatError, match="needs residency = 'frozen': restart says"):
        amend(kzmake, {}, {"invocations": 2})


@pytest.mark.parametrize(("name", "duration_s"), [("settle", 0.2), ("quick", 1.0), ("long", 2.0)])
def test_another_generator_measures_trials_instead_of_slices(name: str, duration_s: float) -> None:
    amended = amend(load_protocol(HERE, name), {"generator": "wrk"}, {})
    assert amended.slices is None
    assert amended.duration_s == duration_s


def test_repetitions_keep_the_slices_of_a_race_to_settle() -> None:
    """Regression: `--repetitions` fell back to the schedule of version 0.1."""
    amended = amend(load_protocol(HERE, "settle"), {}, {"kind": "fixed", "repetitions": 5})
    assert amended.slices is not None
    assert amended.stopping.time_limit_s == float("inf")
