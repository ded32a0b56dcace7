"""Which contender stands for a published row, and how long a race takes."""

from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.resolve import BETWEEN_SLICES_S
from deadheat.campaign.schedule import SLOW_SLICES, START_S, Estimate, estimate, line_up
from deadheat.catalog import Catalog, load_catalog
from deadheat.protocol.figures import Figure, PublishedFigures
from deadheat.stats.warmup.warm_rule import Compiler
from deadheat.workload import load_workload
from tests.audit.made import protocol as replay
from tests.build.made import MANIFEST, made_server
from tests.campaign.made_protocols import SETTLE, sliced

ROOT = Path(__file__).parents[2]
PUBLISHED = """
[settings.four]
why = "as published"
workers = 4

[[published]]
protocol = "paper"
row = "{row}"
setting = "four"
"""


def figures(*rows: str) -> PublishedFigures:
    return PublishedFigures("paper", tuple(Figure(row, 10, 100.0, 1.0, "a page") for row in rows))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "recipes").mkdir()
    for name, row in (("alpha", "Alpha 1.0"), ("beta", "Beta")):
        made_server(tmp_path, name, MANIFEST + PUBLISHED.replace("{row}", row))
    made_server(tmp_path, "gamma")
    return load_catalog(tmp_path)


def test_manifests_assign_published_rows(catalog: Catalog) -> None:
    lineup = line_up(replay(), catalog, figures("Beta", "Alpha 1.0"))
    assert [selection.name for selection in lineup.selections] == [
        "beta:four",
        "alpha:four",
    ]  # as published
    assert lineup.labels == {"beta:four": "Beta", "alpha:four": "Alpha 1.0"}
    assert (dict(lineup.missing), lineup.strays) == ({}, ())


def test_reports_rows_without_a_server(catalog: Catalog) -> None:
    lineup = line_up(replay(), catalog, figures("Beta", "Omega", "Alpha 1.0"))
    assert lineup.missing == {"Omega": "no server here"}


def test_protocol_may_assign_a_row(catalog: Catalog) -> None:
    assigned = [
        {"server": "gamma", "workers": 2, "label": "Omega"},
        {"server": "delta", "label": "Delta"},
    ]
    lineup = line_up(replay(contenders=assigned), catalog, figures("Omega", "Delta", "Beta"))
    assert lineup.labels == {"gamma:w2": "Omega", "beta:four": "Beta"}
    assert lineup.missing == {"Delta": "no server delta"}
    assert lineup.strays == ("alpha:four: paper has no row 'Alpha 1.0'",)


def test_unselected_row_is_missing_with_the_reason(catalog: Catalog) -> None:
    lineup = line_up(replay(), catalog, figures("Beta", "Alpha 1.0"), only={"beta"})
    assert list(lineup.labels) == ["beta:four"]
    assert lineup.missing == {"Alpha 1.0": "alpha:four is not selected"}


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
    """Regression: also that of a search that does not happen, after a fixed warm-up."""
    estimated = fixed(warmup={"kind": "steady", "least_s": 1.0, "limit_s": 10.0})
    assert estimated.most_s - estimated.least_s == pytest.approx(3 * 9.0)
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


def test_bug_slices_of_slow_workloads_were_planned_as_those_of_hello() -> None:
    """Two thirds of an edition's cells had one start: its blocks took 3.7 times as long."""
    protocol = sliced(connections=[100], controls=False)
    hello = estimate(protocol, ["a", "b"])
    on_page = protocol.model_copy(update={"workloads": (load_workload(ROOT, "page"),)})
    slow = estimate(on_page, ["a", "b", "c"], lacking=["page"])
    assert slow.block_s == pytest.approx(hello.block_s * SLOW_SLICES["page"])
    assert slow.trials_per_block == hello.trials_per_block == 2


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
        "to start and warm up all takes about 50 s; expected about 1 min 36 s or more"
    )
