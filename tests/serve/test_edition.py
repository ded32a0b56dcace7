"""Editions: runs read as one set of servers by workloads."""

import re
from pathlib import Path
from typing import Any

import pytest

from deadheat.report.findings.cautions import cautions
from deadheat.report.model.load import load_view_of
from deadheat.serve.board import draw_top
from deadheat.serve.edition import Edition, EditionPart, join, part_of
from deadheat.serve.edition_findings import outdated
from deadheat.serve.heatmap import index_page
from deadheat.store import Store, read_run
from tests.report.made import MadeRun, made_run
from tests.report.sliced import SLICED, sliced_race

SHARED = "shared"


def part(store: Store, run_id: str) -> EditionPart:
    run = read_run(store, run_id)
    return part_of(load_view_of(run, whole=True), run.contenders)


def raced(run: MadeRun, rates: dict[str, float], **values: Any) -> EditionPart:
    for name in rates:
        run.contender(name, **values)
    run_id = sliced_race(run, {**rates, SHARED: 3000.0})
    return part(run.store, run_id)


def edition(*parts: EditionPart) -> Edition:
    return join("made", parts)


def shares(of: Edition) -> dict[str, float]:
    ranking = of.levels[0].ranking
    assert ranking is not None
    return {row.name: row.ratio_to_leader.ratio for row in ranking.rows}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return made_run(tmp_path / "runs.sqlite", protocol=SLICED).store


def new(store: Store) -> MadeRun:
    return MadeRun(store, protocol=SLICED)


def test_parts_are_linked_by_the_server_that_they_share(store: Store) -> None:
    first = raced(new(store), {"a": 9000, "b": 6000})
    second = raced(new(store), {"c": 4500, "d": 2000})
    joined = edition(first, second)
    expected = {"a": 1, "b": 0.667, "c": 0.5, "shared": 0.333, "d": 0.222}
    assert shares(joined) == pytest.approx(expected, rel=0.02)


def test_the_interval_across_parts_contains_the_link(store: Store) -> None:
    first = raced(new(store), {"a": 9000, "b": 6000})
    joined = edition(first, raced(new(store), {"c": 6000, "d": 2000}))
    level = joined.levels[0]
    assert level.estimate is not None
    a, b, c = (level.names.index(name) for name in "abc")
    assert level.estimate.variance[a, c] > level.estimate.variance[a, b]


def test_a_part_without_a_link_is_shown_and_not_ranked(store: Store) -> None:
    first = raced(new(store), {"a": 9000, "b": 6000})
    alone = new(store)
    second = part(store, sliced_race(alone, {"c": 4500, "d": 2000}))
    joined = edition(first, second)
    unranked = {*joined.servers} - {*shares(joined)}
    assert unranked in ({"a", "b", SHARED}, {"c", "d"}), "the two sides have no server in common"
    assert unranked == {*joined.levels[0].reasons}


def build(store: Store, key: str) -> int:
    return store.add_build(
        server="c",
        key=key * 12,
        built_at="2026-11-20T12:00:00+00:00",
        elapsed_s=1.0,
        toolchains={},
        files={},
        log="",
    )


def test_an_older_build_still_links_the_parts(store: Store) -> None:
    older, newer = build(store, "x"), build(store, "y")
    parts = []
    for rates, key in (
        ({"a": 9000.0, "b": 6000.0, "link": 3000.0}, older),
        ({"c": 4500.0, "d": 2000.0, "link": 3000.0}, older),
        ({"a": 9000.0, "link": 6000.0}, newer),
    ):
        run = new(store)
        for name in rates:
            run.contender(name, build_id=key if name == "link" else None)
        parts.append(part(store, sliced_race(run, rates)))
    expected = {"a": 1, "b": 0.667, "c": 0.5, "d": 0.222, "link": 0.667}
    assert shares(edition(*parts)) == pytest.approx(expected, rel=0.02)


def test_all_runs_of_one_build_count_and_each_rerun_is_a_look(store: Store) -> None:
    once = edition(*(raced(new(store), {"a": 9000, name: 6000}) for name in "bc"))
    runs = [raced(new(store), {"a": 9000, name: 6000}) for name in "bcbc"]
    again = edition(*runs)
    variances, spent = [], []
    for each in (once, again):
        (level,) = each.levels
        assert level.estimate is not None
        assert level.ranking is not None
        a, b = level.names.index("a"), level.names.index("b")
        variances.append(level.estimate.variance[a, b])
        spent.append(level.ranking.level.share)
    assert variances[1] < 0.8 * variances[0]
    assert spent[0] == pytest.approx(9 * spent[1]), "two reruns: the third look"


def test_an_older_edition_of_another_machine_is_named(store: Store) -> None:
    elsewhere = MadeRun(store, protocol=SLICED, fingerprints={"server": {"kernel": "9.9"}})
    before = edition(raced(elsewhere, {"a": 9000, "b": 6000}))
    after = edition(raced(new(store), {"a": 9000, "b": 6000}))
    assert after.elsewhere(after) is None
    assert "9.9" in str(after.elsewhere(before))
    assert "made is of another machine" in index_page(after, [before]).replace("</strong>", "")
    assert "of another machine" not in index_page(after, [after])


def test_a_newer_build_of_a_server_replaces_the_older_one(store: Store) -> None:
    first = raced(new(store), {"a": 9000, "c": 3000}, build_id=build(store, "x"))
    second = raced(new(store), {"a": 9000, "c": 6000}, build_id=build(store, "y"))
    assert shares(edition(first, second))["c"] == pytest.approx(0.667, rel=0.02)


def test_a_run_of_another_machine_is_left_out(store: Store) -> None:
    elsewhere = MadeRun(store, protocol=SLICED, fingerprints={"server": {"kernel": "9.9"}})
    first = raced(elsewhere, {"a": 9000, "b": 6000})
    second = raced(new(store), {"c": 4500, "d": 2000})
    joined = edition(first, second)
    assert {*joined.left_out} == {first.run.run_id}
    assert {*joined.servers} == {"c", "d", SHARED}


def test_outdated_is_a_release_of_which_the_board_has_a_newer_one(store: Store) -> None:
    run = new(store)
    versions = {"old": "6.1.7", "patch": "8.1.0", "newest": "8.1.3 + puma 7"}
    for name, version in versions.items():
        run.contender(name, version=version)
    joined = edition(part(store, sliced_race(run, {"old": 9000, "patch": 6000, "newest": 3000})))
    assert outdated(joined.servers) == {"old": "8.1.3 + puma 7"}


def test_a_version_past_its_support_is_marked_and_cautioned(store: Store) -> None:
    run = new(store)
    manifest = {"language": "Ruby", "framework": "Rails", "support": {"6.1": "2024-10-01"}}
    run.contender("rails", version="6.1.7", manifest=manifest)
    run.contender("other", version="6.1.7", manifest={**manifest, "support": {"6.1": [1]}})
    stored = read_run(store, sliced_race(run, {"rails": 9000, "other": 6000}))
    view = load_view_of(stored)
    (caution,) = [each for each in cautions(view) if each.code == "unsupported"]
    assert caution.contenders == ("rails",)
    assert "rails (6.1 until 2024-10-01)" in caution.text
    page = index_page(edition(part_of(view, stored.contenders)), [])
    assert page.count(">unsupported<") == 1


def test_the_picture_for_link_previews_has_the_top_of_the_board(store: Store) -> None:
    names = {f"s{n}": 9000.0 - 500 * n for n in range(12)}
    picture = draw_top(edition(raced(new(store), names)))
    assert picture is not None
    texts = re.findall(r"<text[^>]*>([^<]*)", picture)
    assert "13 HTTP servers, 1 workload" in texts
    assert [text for text in texts if text in names] == [f"s{n}" for n in range(9)]
    assert "100" in texts
    assert any("separates differences of" in text or "is not known" in text for text in texts)
