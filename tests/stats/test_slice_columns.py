"""Columns give what rows give."""

import random

import numpy as np

from deadheat.stats.counted_slices import SliceRow, count_columns, count_slices, slices_of
from deadheat.stats.slice_columns import SliceColumns

NAMES = ("b", "a", "c")


def rows(seed: int) -> list[SliceRow]:
    """Three contenders in 24 rounds, in no order; the first instance of one climbs."""
    order = random.Random(seed)
    made = [
        SliceRow(name, 10 * place + half, round_ // 4, round_, float(round_), rate)
        for round_ in range(48)
        for place, name in enumerate(NAMES)
        for half in (round_ // 24,)
        for climbs in (name == "a" and round_ < 8,)
        for rate in (order.gauss(1000 if not climbs else 400, 10),)
    ]
    order.shuffle(made)
    return made


def test_slices_are_in_order_of_time_then_name() -> None:
    shuffled = rows(1)
    ordered = [shuffled[place] for place in SliceColumns.of_rows(shuffled).by_time()]
    assert ordered == sorted(shuffled, key=lambda row: (row.at_s, row.contender))


def test_columns_count_the_same_slices_as_rows() -> None:
    shuffled = rows(2)
    by_row, columns = count_slices(shuffled), SliceColumns.of_rows(shuffled)
    counted = count_columns(columns)
    assert by_row.rows == tuple(shuffled[place] for place in counted.places)
    assert by_row.settlings[10].excluded
    assert by_row.settlings == counted.settlings
    assert (
        by_row.owners == counted.owners == {p * 10 + h: NAMES[p] for p in range(3) for h in (0, 1)}
    )
    slices, same = slices_of(by_row.rows, NAMES), slices_of(columns.taken(counted.places), NAMES)
    for name in ("log_rate", "contender", "instance", "block", "round", "time_s"):
        np.testing.assert_array_equal(getattr(slices, name), getattr(same, name))


def test_a_name_without_slices_changes_nothing() -> None:
    columns = SliceColumns.of_rows(rows(3))
    more = SliceColumns(("no slice", *columns.names), columns.contender + 1, columns.instance,
                        columns.block, columns.round, columns.at_s, columns.rate_per_s)  # fmt: skip
    assert count_columns(more).places.tolist() == count_columns(columns).places.tolist()


def test_no_slices_are_counted_as_none() -> None:
    assert count_slices([]).rows == ()
