"""Stored slices: read once into checked values, and in columns."""

import json
import math
import zlib
from typing import Any

import pytest

from deadheat.errors import StoreError
from deadheat.store.slices import (
    PackedSlices,
    StoredSlice,
    TrialSlices,
    columns_of,
    slices_json,
    slices_of_json,
)

WHOLE: dict[str, Any] = {
    "at_s": 1.5,
    "round": 3,
    "rate_per_s": 9000.0,
    "requests_ok": 720,
    "elapsed_s": 0.08,
    "window_s": 0.09,
}


def test_a_slice_is_read_as_it_was_stored() -> None:
    slices = (
        StoredSlice(**WHOLE),
        StoredSlice(**WHOLE, paused_s=0.01, longest_pause_us=10_000.0, client_waited=True),
        StoredSlice(at_s=2.0, round=4, witness_per_s=8990.0),
    )
    assert slices_of_json(slices_json(slices)) == slices


def test_unknown_figures_are_left_out_and_a_zero_is_not() -> None:
    silent = StoredSlice(at_s=1.0, round=1, rate_per_s=0.0, requests_ok=0, window_s=0.08)
    assert json.loads(slices_json([silent])) == [
        {"at_s": 1.0, "round": 1, "rate_per_s": 0.0, "requests_ok": 0, "window_s": 0.08}
    ]


def test_figures_that_this_version_does_not_know_are_skipped() -> None:
    (read,) = slices_of_json(json.dumps([{**WHOLE, "memory_ns": [80.0, 81.5]}]).encode())
    assert read == StoredSlice(**WHOLE)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([{"round": 1}], "0.at_s"),
        ([{**WHOLE, "rate_per_s": "9000"}], "0.rate_per_s"),
        ([WHOLE, {**WHOLE, "requests_ok": 1.5}], "1.requests_ok"),
        ([{**WHOLE, "window_s": math.inf}], "0.window_s"),
        ([{**WHOLE, "at_s": math.nan}], "0.at_s"),
        ([7], "0"),
    ],
)
def test_a_wrong_figure_names_its_slice_and_its_key(rows: list[Any], fault: str) -> None:
    packed = PackedSlices(
        zlib.compress(json.dumps(rows).encode()), "r1", "series slices of trial 4"
    )
    with pytest.raises(StoreError, match=f"run r1: series slices of trial 4 .*: {fault}"):
        len(packed)


@pytest.mark.parametrize(
    ("figures", "counts"),
    [
        ({}, True),
        ({"rate_per_s": 0.0, "requests_ok": 0}, True),
        ({"rate_per_s": 0.0, "requests_ok": 0, "window_s": None}, False),
        ({"rate_per_s": None}, False),
        ({"client_waited": True}, False),
    ],
)
def test_a_slice_counts_if_its_rate_is_the_servers(figures: dict[str, Any], counts: bool) -> None:
    each = StoredSlice(**WHOLE | figures)
    assert each.counts == counts
    assert len(columns_of(["a"], [TrialSlices(0, 1, 1, [each])])) == counts


def test_columns_have_the_slices_of_all_trials_in_their_order() -> None:
    first, second = StoredSlice(**WHOLE), StoredSlice(**WHOLE | {"at_s": 2.0, "paused_s": 0.01})
    failed = StoredSlice(at_s=3.0, round=4)
    columns = columns_of(
        ["a", "b"], [TrialSlices(1, 7, 1, [first, failed]), TrialSlices(0, 8, 2, [second])]
    )
    assert columns.contender.tolist() == [1, 0]
    assert columns.instance.tolist() == [7, 8]
    assert columns.at_s.tolist() == [1.5, 2.0]
    assert columns.paused_s.tolist() == [0.0, 0.01]
    assert columns.weight.tolist() == [8000.0, 8000.0]
    assert all(map(math.isnan, columns.witness_per_s))
