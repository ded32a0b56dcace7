from typing import Any

import pytest

from deadheat.campaign.estimate import START_S, TRIAL_OVERHEAD_S, Estimate, estimate
from deadheat.protocol import Protocol


def made(stopping: dict[str, Any], warmup: dict[str, Any], **values: Any) -> Protocol:
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10, 100],
            "duration_s": 1.0,
            "discard_s": 0.5,
            "controls": False,
            "warmup": warmup,
            "stopping": stopping,
            **values,
        }
    )


def fixed(**values: Any) -> Estimate:
    warmup = {"kind": "fixed", "duration_s": 3.0}
    return estimate(made({"kind": "fixed", "repetitions": 6}, warmup, **values), ["a", "b", "c"])


def test_a_fixed_protocol_is_added_up() -> None:
    told = fixed()
    block_s = 6 * (1.5 + TRIAL_OVERHEAD_S)
    assert told.trials_per_block == 6
    assert told.block_s == pytest.approx(block_s)
    assert told.invocation_start_s == pytest.approx(3 * (START_S + 3))
    assert told.least_s == pytest.approx(3 * (START_S + 3) + 6 * block_s)
    assert told.rule == "after 6 repetitions"


def test_what_warming_may_take_is_in_the_most() -> None:
    warmup = {"kind": "steady", "least_s": 1.0, "limit_s": 10.0}
    told = estimate(made({"kind": "fixed", "repetitions": 1}, warmup), ["a", "b"])
    assert told.most_s - told.least_s == pytest.approx(2 * 9.0)


def test_a_fixed_protocol_takes_what_it_takes() -> None:
    """Regression: the limit of a search that is not made was added to the most."""
    assert fixed().most_s == pytest.approx(fixed().least_s)


def test_canaries_take_their_part() -> None:
    told = fixed(controls=True)
    assert told.trials_per_block == 2 * (3 + 2)
    assert told.contenders == ("a", "b", "c")


def test_the_budget_bounds_a_race_to_settle() -> None:
    stopping = {"kind": "settle", "budget_s": 60.0, "invocations": 3, "blocks_min": 4}
    told = estimate(made(stopping, {"kind": "none"}), ["a", "b"])
    assert told.least_s == 60.0
    assert told.most_s == pytest.approx(60.0 + told.block_s)
    assert "within 3%, or 1.0 min are spent" in told.rule


def test_it_can_be_read_by_both() -> None:
    told = fixed()
    assert told.to_json()["least_s"] == told.least_s
    assert "connections   10, 100" in told.lines()
    assert all(text in "\n".join(told.lines()) for text in ("a, b, c", "6 trials", "builds apart"))
