"""Servers that pause: judged beside the others, and shown in every format."""

from typing import Any

import pytest

from deadheat.report.findings.pauses import find_pauses
from deadheat.store.slices import StoredSlice

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
    disturbed = {name: slices(0.008, 8000) for name in "abc"}
    assert find_pauses(disturbed) == {}
    findings = find_pauses(disturbed | {"gc": slices(0.024, 24_000)})
    assert set(findings) == {"gc"}
    assert findings["gc"].share == pytest.approx(0.2), "beyond the median of the others"


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


@pytest.mark.parametrize("own", [slices(0.0015, 5000), [slice_of()]])
def test_short_pauses_and_slices_that_failed_are_no_finding(own: Slices) -> None:
    assert find_pauses({"gc": own, "a": CALM}) == {}


@pytest.mark.parametrize("others", [{}, {"null-server": CALM}])
def test_a_server_alone_is_judged_beside_the_controls(others: dict[str, Slices]) -> None:
    assert set(find_pauses({"gc": slices(0.016, 16_000), **others})) == {"gc"}


def test_bug_slices_without_a_pause_did_not_count_as_time() -> None:
    """The engine's slices store nothing of pauses where there was none."""
    calm = [slice_of(window_s=0.1, elapsed_s=0.1)] * 99
    paused = slice_of(window_s=0.1, elapsed_s=0.1, paused_s=0.05, longest_pause_us=50_000.0)
    assert find_pauses({"once": [*calm, paused], "calm": calm}) == {}
    findings = find_pauses({"often": [*calm[:49], *[paused] * 51], "calm": calm})
    assert findings["often"].share == pytest.approx(0.255)
