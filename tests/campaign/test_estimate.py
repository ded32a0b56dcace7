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


def test_adds_up_a_fixed_protocol() -> None:
    estimated = fixed()
    block_s = 6 * (1.5 + TRIAL_OVERHEAD_S)
    assert estimated.trials_per_block == 6
    assert estimated.block_s == pytest.approx(block_s)
    assert estimated.invocation_start_s == pytest.approx(3 * (START_S + 3))
    assert estimated.least_s == pytest.approx(3 * (START_S + 3) + 6 * block_s)
    assert estimated.rule == "after 6 repetitions"


def test_most_includes_the_longest_warm_up() -> None:
    warmup = {"kind": "steady", "least_s": 1.0, "limit_s": 10.0}
    estimated = estimate(made({"kind": "fixed", "repetitions": 1}, warmup), ["a", "b"])
    assert estimated.most_s - estimated.least_s == pytest.approx(2 * 9.0)


def test_fixed_warm_up_adds_no_search_time() -> None:
    """Regression: `most_s` included the limit of a search that does not happen."""
    assert fixed().most_s == pytest.approx(fixed().least_s)


def test_controls_add_trials() -> None:
    estimated = fixed(controls=True)
    assert estimated.trials_per_block == 2 * (3 + 2)
    assert estimated.contenders == ("a", "b", "c")


def test_budget_limits_a_race_to_settle() -> None:
    stopping = {"kind": "settle", "budget_s": 60.0, "invocations": 3, "blocks_min": 4}
    estimated = estimate(made(stopping, {"kind": "none"}), ["a", "b"])
    assert estimated.least_s == 60.0
    assert estimated.most_s == 60.0, "the budget is a hard cap"
    assert "within 3 %, or after 1 min" in estimated.rule


def test_estimate_has_json_and_text() -> None:
    estimated = fixed()
    assert estimated.to_json()["least_s"] == estimated.least_s
    assert "connections   10, 100" in estimated.lines()
    assert all(
        text in "\n".join(estimated.lines()) for text in ("a, b, c", "6 trials", "without builds")
    )
