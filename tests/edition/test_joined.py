"""Editions: runs read as one set of servers by workloads."""

import datetime
import re
from pathlib import Path

import pytest

from deadheat.edition import joined as edition_module
from deadheat.edition.findings import outdated, separates_text
from deadheat.edition.joined import TOO_FEW_STARTS, UNLINKED, join, part_of
from deadheat.edition.model import Edition, EditionPart
from deadheat.report.findings.cautions import cautions
from deadheat.report.model.load import load_view_of
from deadheat.serve.board import badge
from deadheat.serve.heatmap import index_page
from deadheat.serve.top_picture import draw_top
from deadheat.stats.ranking.ranks import Ranking
from deadheat.store import Store, read_run
from tests.report.made import SETTLE, MadeRun, made_run
from tests.report.sliced import SLICED, sliced_race
from tests.report.test_common_rate import raced as raced_at_rates

SHARED = "shared"


def part(store: Store, run_id: str) -> EditionPart:
    run = read_run(store, run_id)
    return part_of(load_view_of(run, whole=True), run.contenders)


def raced(run: MadeRun, rates: dict[str, float]) -> EditionPart:
    return part(run.store, sliced_race(run, {**rates, SHARED: 3000.0}))


def edition(*parts: EditionPart) -> Edition:
    return join("made", parts)


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


def rebuilt_edition(store: Store) -> Edition:
    """Three servers on hello; two of them, built anew, on json alone."""
    parts = []
    for version, workload, rates in (
        ("1.0", "hello", {"a": 9000.0, "b": 6000.0, "c": 3000.0}),
        ("2.0", "json", {"a": 900.0, "c": 800.0}),
    ):
        run = new(store, workload)
        build_id = build(store, version)
        for name in rates:
            run.contender(name, build_id=build_id, version=version)
        parts.append(part(store, sliced_race(run, rates, workload=workload)))
    return edition(*parts)


def ranking_of(joined: Edition) -> Ranking:
    """That of the first level."""
    ranking = joined.levels[0].ranking
    assert ranking is not None
    return ranking


def variance_of(joined: Edition, first: str, second: str) -> float:
    """That of the log ratio of two servers on the first level."""
    level = joined.levels[0]
    assert level.estimate is not None
    return float(level.estimate.variance[level.names.index(first), level.names.index(second)])


def shares(joined: Edition) -> dict[str, float]:
    return {row.name: row.ratio_to_leader.ratio for row in ranking_of(joined).rows}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return made_run(tmp_path / "runs.sqlite", protocol=SLICED).store


def new(store: Store, *workloads: str) -> MadeRun:
    return MadeRun(store, protocol={**SLICED, "workloads": [{"name": name} for name in workloads]})


def test_parts_are_linked_by_the_server_that_they_share(store: Store) -> None:
    first = raced(new(store), {"a": 9000, "b": 6000})
    second = raced(new(store), {"c": 4500, "d": 2000})
    joined = edition(first, second)
    expected = {"a": 1, "b": 0.667, "c": 0.5, "shared": 0.333, "d": 0.222}
    assert shares(joined) == pytest.approx(expected, rel=0.02)
    assert variance_of(joined, "a", "c") > variance_of(joined, "a", "b"), "it contains the link"


def test_a_part_without_a_link_is_shown_and_not_ranked(store: Store) -> None:
    first = raced(new(store), {"a": 9000, "b": 6000})
    alone = new(store)
    second = part(store, sliced_race(alone, {"c": 4500, "d": 2000}))
    joined = edition(first, second)
    unranked = {*joined.servers} - {*shares(joined)}
    assert unranked in ({"a", "b", SHARED}, {"c", "d"}), "the two sides have no server in common"
    assert unranked == {*joined.levels[0].reasons}
    assert {*joined.levels[0].reasons.values()} == {UNLINKED}


def test_bug_a_server_with_few_starts_was_said_to_be_in_a_run_without_a_link(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """18 cells of the stored edition said so, in runs that share two servers with all others."""
    first = raced(new(store), {"a": 9000, "b": 6000})
    second = raced(new(store), {"c": 4500, "d": 2000})
    monkeypatch.setattr(edition_module, "without_interval", lambda _: frozenset({"d"}))
    joined = edition(first, second)
    assert {*shares(joined)} == {"a", "b", "c", SHARED}
    assert joined.levels[0].reasons == {"d": TOO_FEW_STARTS}


def test_bug_a_board_without_some_servers_spent_the_error_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [raced(new(store), {"a": 9000, name: 6000}) for name in "bc"]
    whole = ranking_of(edition(*parts))
    monkeypatch.setattr(edition_module, "without_interval", lambda _: frozenset({"c"}))
    others = ranking_of(edition(*parts))
    assert (len(whole.rows), len(others.rows)) == (4, 3)
    assert others.level.alpha == pytest.approx(whole.level.alpha)


def test_bug_a_joined_board_ranked_servers_without_any_interval(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cell said 1-126, and the picture NaN."""
    parts = [raced(new(store), {"a": 9000, name: 6000}) for name in "bc"]
    monkeypatch.setattr(
        edition_module,
        "without_interval",
        lambda ranking: frozenset(row.name for row in ranking.rows),
    )
    joined = edition(*parts)
    (level,) = joined.levels
    assert level.ranking is None
    assert level.reasons == dict.fromkeys(["a", "b", "c", SHARED], TOO_FEW_STARTS)
    assert draw_top(joined) is None
    assert index_page(joined, []).count('class="heat none"') == 4
    assert "not ranked" in badge(joined, "a")


def test_bug_a_server_counted_once_a_run_in_the_choice_of_the_level(store: Store) -> None:
    """The level with the most servers is shown, not that with the most cells of runs."""
    parts = []
    for connections, names in ((10, "abc"), (100, "ab"), (100, "ab")):
        run = MadeRun(store, protocol={**SETTLE, "connections": [connections]})
        run.race(dict.fromkeys(names, 9000), levels=(connections,), blocks=4)
        parts.append(part(store, run.end()))
    (level,) = edition(*parts).levels
    assert level.level.connections == 10


def test_a_newer_build_of_a_server_replaces_the_older_one_which_links_the_parts(
    store: Store,
) -> None:
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
    once, again = (
        edition(*(raced(new(store), {"a": 9000, name: 6000}) for name in names))
        for names in ("bc", "bcbc")
    )
    assert variance_of(again, "a", "b") < 0.8 * variance_of(once, "a", "b")
    spent = [ranking_of(each).level.share for each in (once, again)]
    assert spent[0] == pytest.approx(9 * spent[1]), "two reruns: the third look"


def test_bug_an_extension_of_a_run_was_no_look_at_the_edition(store: Store) -> None:
    """A run that was extended until its places were clear spent all of the error again."""
    at = datetime.datetime(2026, 11, 28, tzinfo=datetime.UTC).isoformat()
    extension = {"at": at, "trials": 9, "paused_s": 1.0, "more_s": 60.0}
    spent = []
    for resumed in ([], [extension] * 2):
        run = new(store)
        sliced_race(run, {"a": 9000, "b": 6000, SHARED: 3000})
        run.end(resumed=resumed)
        joined = edition(part(store, run.run_id), raced(new(store), {"c": 4500}))
        spent.append(ranking_of(joined).level.share)
    assert spent[0] == pytest.approx(9 * spent[1]), "the third look"


def test_an_older_edition_of_another_machine_is_named(store: Store) -> None:
    elsewhere = MadeRun(store, protocol=SLICED, fingerprints={"server": {"kernel": "9.9"}})
    before = edition(raced(elsewhere, {"a": 9000, "b": 6000}))
    after = edition(raced(new(store), {"a": 9000, "b": 6000}))
    assert after.elsewhere(after) is None
    assert "9.9" in str(after.elsewhere(before))
    assert "made is of another machine" in index_page(after, [before]).replace("</strong>", "")
    assert "of another machine" not in index_page(after, [after])


def test_bug_a_server_lost_its_cell_where_only_an_older_build_was_raced(store: Store) -> None:
    """A newer build was raced on json alone: on hello, the older one is the newest."""
    joined = rebuilt_edition(store)
    hello, json = joined.levels
    assert shares(joined) == pytest.approx({"a": 1, "b": 0.667, "c": 0.333}, rel=0.02)
    assert hello.older == {"a": "1.0", "c": "1.0"}
    assert not json.older
    assert joined.servers["a"].version == "2.0"
    page = index_page(joined, [])
    assert page.count('title="an older build, version 1.0"') == 2
    assert "A cell with † is of an older build" in page
    alone = edition(raced(new(store), {"a": 9000, "b": 6000}))
    assert "†" not in index_page(alone, []).partition("<body>")[2]


def test_the_sentence_at_the_top_says_what_each_workload_separates(store: Store) -> None:
    names = ("hello", "json")
    run = new(store, *names)
    rates = {"a": 9000, "b": 6000, "c": 3000}
    sliced_race(run, rates, apart=0.01)
    joined = edition(part(store, sliced_race(run, rates, apart=0.05, workload="json")))
    shown = [f"{100 * (level.separates or 0):.1f}" for level in joined.levels]
    assert float(shown[0]) < float(shown[1])
    on_hello, on_json = (f"{each} % and more on {n}" for each, n in zip(shown, names, strict=True))
    text = separates_text(joined.levels)
    assert text == f"This board separates differences of {on_hello}; {on_json}."
    assert separates_text(joined.levels[:1]) == text.replace(f" on hello; {on_json}", "")
    assert f'"separates": {joined.levels[0].separates}' in badge(joined, "a")


def test_bug_runs_of_hello_alone_were_not_joined_with_those_of_several_workloads(
    store: Store,
) -> None:
    """A protocol names hello only beside other workloads; its request is the same."""
    alone = raced(new(store), {"a": 9000, "b": 6000})
    beside = new(store, "hello", "json")
    rates = {"c": 4500, SHARED: 3000}
    sliced_race(beside, rates)
    joined = edition(alone, part(store, sliced_race(beside, rates, workload="json")))
    assert shares(joined).keys() == {"a", "b", "c", SHARED}


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


def test_a_run_at_common_rates_brings_the_cost_of_a_request(tmp_path: Path) -> None:
    """Its lowest rate, of the servers that hold it; it has no rates to rank."""
    rates = raced_at_rates(tmp_path)
    at_rates = part(rates.store, rates.run_id)
    run = new(rates.store)
    for name in ("cheap", "dear"):
        run.contender(name)
    joined = edition(part(run.store, sliced_race(run, {"cheap": 9000, "dear": 6000})), at_rates)
    cost = joined.costs["hello"]
    assert cost.offered_rate_per_s == 1000
    assert cost.cpu_us["cheap"] == pytest.approx(10, rel=0.05)
    assert [each.level.workload for each in joined.levels] == ["hello"]
    page = index_page(joined, [])
    assert re.search(r'data-label="cost">(20|20\.\d|19\.\d)<', page)
    assert "1,000 requests/s on hello" in page
    without = edition(raced(new(run.store), {"a": 9000, "b": 6000}))
    assert 'data-label="cost"' not in index_page(without, [])


def test_the_picture_for_link_previews_has_the_top_of_the_board(store: Store) -> None:
    names = {f"s{n}": 9000.0 - 500 * n for n in range(12)}
    picture = draw_top(edition(raced(new(store), names)))
    assert picture is not None
    texts = re.findall(r"<text[^>]*>([^<]*)", picture)
    assert "13 HTTP servers, 1 workload" in texts
    assert [text for text in texts if text in names] == [f"s{n}" for n in range(9)]
    assert "100" in texts
    assert any("separates differences of" in text or "is not known" in text for text in texts)


def test_the_picture_of_several_workloads_has_a_cell_for_each(store: Store) -> None:
    run = new(store, "hello", "json")
    sliced_race(run, {"a": 9000, "b": 6000, "c": 3000})
    joined = edition(part(store, sliced_race(run, {"b": 800, "a": 400}, workload="json")))
    picture = draw_top(joined)
    assert picture is not None
    texts = re.findall(r"<text[^>]*>([^<]*)", picture)
    assert "3 HTTP servers, 2 workloads" in texts
    assert texts[2:5] == ["a", "b", "c"], "in the order of the first workload"
    assert texts[5:13] == ["hello", "100", "67", "33", "json", "50", "100", "–"]
