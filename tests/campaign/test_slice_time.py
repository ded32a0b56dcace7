"""How long slices are in a given budget."""

from pathlib import Path

import pytest

from deadheat.campaign.resolve import slice_s, within_budget
from deadheat.protocol import SliceProtocol, amend, load_as

HERE = Path(__file__).resolve().parents[2]


def settle(budget_s: float, **changes: object) -> SliceProtocol:
    return amend(load_as(HERE, "settle", SliceProtocol), changes, {"budget_s": budget_s})


def test_a_long_budget_has_the_slices_of_the_protocol() -> None:
    assert within_budget(settle(240), 8) == settle(240)


def test_a_short_budget_has_shorter_slices_so_that_each_contender_gets_its_instances() -> None:
    protocol = settle(84)
    shorter = within_budget(protocol, 10)
    assert shorter.duration_s < protocol.duration_s
    slices = protocol.stopping.invocations * protocol.slices.rounds
    assert 10 * slices * slice_s(shorter) == pytest.approx(84 / 3, rel=0.05)


def test_slices_are_never_shorter_than_the_protocol_allows() -> None:
    assert within_budget(settle(60), 24).duration_s == 0.06


def test_several_levels_share_the_budget() -> None:
    several = within_budget(settle(240, connections=(10, 100)), 8)
    assert several.duration_s == within_budget(settle(120), 8).duration_s


def test_a_duration_of_the_users_own_stays() -> None:
    assert within_budget(settle(60, duration_s=0.05), 24).duration_s == 0.05
    assert within_budget(amend(settle(60), {}, {}, scale=0.5), 24).duration_s == 0.04
