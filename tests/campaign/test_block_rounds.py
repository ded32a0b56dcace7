"""How many rounds a block has."""

import pytest

from deadheat.campaign.block_rounds import rounds_of_block, slice_s
from deadheat.protocol import Protocol


def protocol(budget_s: float, levels: int = 1, **slices: int) -> Protocol:
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": list(range(1, levels + 1)),
            "duration_s": 0.1,
            "slices": {"rounds": 12, **slices},
            "warmup": {"kind": "none"},
            "stopping": {"kind": "settle", "budget_s": budget_s},
        }
    )


@pytest.mark.parametrize(
    ("contenders", "budget_s", "levels", "rounds"),
    [
        (8, 240, 1, 18),  # a tenth of the budget holds 18
        (2, 240, 1, 24),
        (24, 720, 1, 18),
        (8, 240, 3, 12),  # each level has its rounds
        (10, 60, 1, 12),
        (0, 240, 1, 24),
    ],
)
def test_a_block_of_few_contenders_has_more_rounds(
    contenders: int, budget_s: float, levels: int, rounds: int
) -> None:
    made = protocol(budget_s, levels, rounds_max=24)
    assert rounds_of_block(made, contenders) == rounds


def test_a_protocol_without_a_maximum_has_the_same_rounds_in_each_block() -> None:
    assert {rounds_of_block(protocol(600), count) for count in (1, 2, 50)} == {12}


def test_a_slice_takes_more_than_what_is_counted() -> None:
    assert slice_s(protocol(60)) == pytest.approx(0.165)


def test_rejects_a_maximum_below_the_rounds() -> None:
    with pytest.raises(ValueError, match="rounds_max has to be at least"):
        protocol(60, rounds_max=8)
