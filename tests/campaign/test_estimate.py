from typing import Any

import pytest

from deadheat.campaign.resolve import BETWEEN_SLICES_S
from deadheat.campaign.schedule import START_S, Estimate, estimate
from deadheat.stats.warmup.warm_rule import Compiler
from tests.campaign.made_protocols import SETTLE, sliced


def fixed(**values: Any) -> Estimate:
    known: dict[str, Any] = {
        "connections": [10, 100],
        "controls": False,
        "stopping": {"kind": "fixed", "repetitions": 6},
        "warmup": {"kind": "fixed", "duration_s": 3.0},
    }
    return estimate(sliced(**(known | values)), ["a", "b", "c"])


def test_adds_up_a_fixed_protocol() -> None:
    estimated = fixed()
    block_s = 6 * 4 * (0.1 + 0.01 + BETWEEN_SLICES_S)
    assert estimated.trials_per_block == 6
    assert estimated.block_s == pytest.approx(block_s)
    assert estimated.invocation_start_s == pytest.approx(3 * (START_S + 3))
    assert estimated.least_s == pytest.approx(3 * (START_S + 3) + 6 * block_s)
    assert estimated.rule == "after 6 repetitions"


def test_most_includes_the_longest_warm_up() -> None:
    estimated = fixed(warmup={"kind": "steady", "least_s": 1.0, "limit_s": 10.0})
    assert estimated.most_s - estimated.least_s == pytest.approx(3 * 9.0)


def test_fixed_warm_up_adds_no_search_time() -> None:
    """Regression: `most_s` included the limit of a search that does not happen."""
    assert fixed().most_s == pytest.approx(fixed().least_s)


def test_controls_add_trials() -> None:
    estimated = fixed(controls=True)
    assert estimated.trials_per_block == 2 * (3 + 2)
    assert estimated.contenders == ("a", "b", "c")


def test_budget_limits_a_race_to_settle() -> None:
    estimated = fixed(stopping=SETTLE | {"budget_s": 10})
    assert estimated.least_s == 10.0
    assert estimated.most_s == 10.0, "the budget is a hard cap"
    assert "within 3 %, or after 10 s" in estimated.rule


def test_estimate_has_json_and_text() -> None:
    estimated = fixed()
    assert estimated.to_json()["least_s"] == estimated.least_s
    assert "connections   10, 100" in estimated.lines()
    assert all(
        text in "\n".join(estimated.lines()) for text in ("a, b, c", "6 trials", "without builds")
    )


def test_a_budget_too_short_for_the_starts_over_several_transports_is_named() -> None:
    """A start counted a second of warm-up, and Node.js and the JVM take many: no interval came."""
    protocol = sliced(
        stopping=SETTLE | {"budget_s": 60},
        transports=["http", "https"],
        warmup={"kind": "steady", "least_s": 1.0, "limit_s": 10.0},
    )
    names = ["a", "a:https", "b", "b:https"]
    assert estimate(protocol, names).too_short is None
    slow = dict.fromkeys(names[2:], Compiler.TIERED)
    assert estimate(protocol, names, compilers=slow).too_short == (
        "--budget 1 min is too short for 2 servers over http and https, each started twice: "
        "to start and warm up all takes about 58 s; expected about 1 min 52 s or more"
    )
