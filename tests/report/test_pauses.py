"""Servers that pause: judged beside the others, and shown in every format."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat import report
from deadheat.report.findings.pauses import SIGN, find_pauses
from deadheat.report.model.load import load_view
from deadheat.store.slices import StoredSlice
from tests.report.made import made_run
from tests.report.sliced import SLICED, sliced_race

Slices = list[StoredSlice]


def slice_of(**figures: Any) -> StoredSlice:
    return StoredSlice(at_s=1.0, round=1, **figures)


def slices(paused_s: float, longest_us: float, count: int = 100, often: int = 100) -> Slices:
    """Slices of 80 ms, of which the first `often` have such a pause."""
    pause = {"paused_s": paused_s, "longest_pause_us": longest_us}
    none = {"paused_s": 0.0, "longest_pause_us": 0.0}
    return [slice_of(window_s=0.08, **(pause if n < often else none)) for n in range(count)]


CALM = slices(0.0, 0.0)


def test_a_server_that_pauses_beyond_the_others_is_found() -> None:
    pauses = find_pauses({"gc": slices(0.016, 16_000), "a": CALM, "b": CALM, "null-server": CALM})
    assert set(pauses) == {"gc"}
    assert pauses["gc"].longest_us == 16_000
    assert pauses["gc"].share == pytest.approx(0.2)
    assert pauses["gc"].text == "paused for up to 16.0 ms; pauses took 20 % of its time"


def test_pauses_of_the_machine_are_no_finding() -> None:
    assert find_pauses({name: slices(0.016, 16_000) for name in "abc"}) == {}


def test_the_share_is_what_a_server_has_beyond_the_median_of_the_others() -> None:
    rows = {name: slices(0.008, 8000) for name in "abc"} | {"gc": slices(0.024, 24_000)}
    assert find_pauses(rows)["gc"].share == pytest.approx(0.2)


def test_bug_pauses_of_the_machine_were_held_against_the_fastest_server() -> None:
    """Slower servers showed none, because a stretch of twice their service time is no pause."""
    fast, slow = ({"window_s": 0.08, "rate_per_s": rate} for rate in (50_000.0, 1000.0))
    disturbed = {"paused_s": 0.008, "longest_pause_us": 8000.0}
    others = {name: [slice_of(**slow)] * 100 for name in "abc"}
    rows = {"fast": [slice_of(**fast, **disturbed)] * 100, **others}
    null_server = [slice_of(**fast | {"rate_per_s": 90_000.0}, **disturbed)] * 100
    assert set(find_pauses(rows)) == {"fast"}
    assert "fast" not in find_pauses(rows | {"null-server": null_server})


def test_pauses_within_chance_are_no_finding_and_those_of_a_known_server_are() -> None:
    """Of windows of 80 ms, half are paused: 2 of 30 such windows say nothing, and 15 do."""
    calm = slices(0.0, 0.0, count=30)
    by_chance = slices(0.04, 40_000, count=30, often=2)
    pausing = slices(0.04, 40_000, count=30, often=15)
    assert find_pauses({"a": by_chance, "b": calm, "c": calm}) == {}
    assert set(find_pauses({"a": pausing, "b": calm, "c": calm})) == {"a"}


def test_rare_pauses_longer_than_a_slice_are_found_and_a_single_one_is_not() -> None:
    """A pause counts as time, too, so one of 0.2 s in each hundred slices of 80 ms is 2 %."""
    twice = slices(0.1, 100_000, count=400, often=2)
    once = slices(0.1, 100_000, count=400, often=1)
    assert set(find_pauses({"gc": twice, "a": CALM, "b": CALM})) == {"gc"}
    assert find_pauses({"gc": once, "a": CALM, "b": CALM}) == {}


def test_short_pauses_that_take_little_time_are_no_finding() -> None:
    assert find_pauses({"gc": slices(0.0015, 5000), "a": CALM}) == {}


def test_slices_that_failed_say_nothing() -> None:
    assert find_pauses({"gc": [slice_of()], "a": CALM}) == {}


@pytest.mark.parametrize("others", [{}, {"null-server": CALM}])
def test_a_server_alone_is_judged_beside_the_controls(others: dict[str, Slices]) -> None:
    assert set(find_pauses({"gc": slices(0.016, 16_000), **others})) == {"gc"}


def test_every_format_shows_who_pauses(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=SLICED)
    calm = {"paused_s": 0.0, "longest_pause_us": 0.0}
    paused = {"alpha": calm, "beta": {"paused_s": 0.02, "longest_pause_us": 213_000.0}}
    run_id = sliced_race(run, {"alpha": 9000.0, "beta": 3000.0}, paused=paused)
    view = load_view(run.store, run_id, whole=True)
    sentence = "paused for up to 213 ms; pauses took 25 % of its time"
    for format_ in ("terminal", "md"):
        text = report.write(view, format_)
        assert f"beta {SIGN}" in text
        assert f"alpha {SIGN}" not in text
        assert f"{SIGN}: the server pauses" in text
        assert f"beta {sentence}" in " ".join(text.split())
    (level,) = json.loads(report.write(view, "json"))["levels"]
    pauses = {standing["name"]: standing["pauses"] for standing in level["standings"]}
    assert pauses["alpha"] is None
    assert (pauses["beta"]["longest_us"], pauses["beta"]["text"]) == (213_000.0, sentence)
    assert f"beta {SIGN}" not in report.write(view, "csv")


def test_bug_slices_without_a_pause_did_not_count_as_time() -> None:
    """The engine's slices store nothing of pauses where there was none."""
    calm = [slice_of(window_s=0.1, elapsed_s=0.1)] * 99
    paused = slice_of(window_s=0.1, elapsed_s=0.1, paused_s=0.05, longest_pause_us=50_000.0)
    assert find_pauses({"once": [*calm, paused], "calm": calm}) == {}
    findings = find_pauses({"often": [*calm[:49], *[paused] * 51], "calm": calm})
    assert findings["often"].share == pytest.approx(0.255)
