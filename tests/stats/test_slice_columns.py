"""Slices column by column, and which of them count."""

import random
from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.model.counted_slices import count_slices, slices_of
from deadheat.stats.model.slice_model import fit_slices
from deadheat.stats.model.slices import SliceColumns, SliceRow, SliceTable
from deadheat.stats.ranking.model_ranking import rank_from_model

NAMES = ("b", "a", "c")
ROUNDS = 48


def rows(climbing: bool = False) -> list[SliceRow]:
    """Three contenders with two instances each, in no order; the first one of `a` may climb."""
    order = random.Random(1)
    made = []
    for number in range(ROUNDS):
        for place, name in enumerate(NAMES):
            half = number // (ROUNDS // 2)
            mean = 400 if climbing and name == "a" and number < 8 else 1000
            rate_per_s = order.gauss(mean, 5)
            made.append(
                SliceRow(name, 10 * place + half, number // 4, number, number * 1.0, rate_per_s)
            )
    order.shuffle(made)
    return made


def columns(made: list[SliceRow]) -> SliceColumns:
    table = SliceTable()
    table.add(made[:40])
    table.add(made[40:])
    return table.columns


def as_rows(slices: SliceColumns) -> list[SliceRow]:
    parts = (slices.instance, slices.block, slices.round, slices.at_s, slices.rate_per_s)
    names = [slices.names[place] for place in slices.contender]
    return [SliceRow(*row) for row in zip(names, *(part.tolist() for part in parts), strict=True)]


def test_a_table_gives_back_what_was_added() -> None:
    made = rows()
    assert as_rows(columns(made)) == made


def test_slices_that_count_are_in_order_of_time_then_name() -> None:
    made = rows()
    counted = count_slices(columns(made))
    assert as_rows(counted.slices) == sorted(made, key=lambda row: (row.at_s, row.contender))
    assert counted.settlings == {}


def test_the_early_slices_of_an_instance_that_climbed_do_not_count() -> None:
    counted = count_slices(columns(rows(climbing=True)))
    finding = counted.settlings[10]
    assert counted.owners[10] == "a"
    assert finding.excluded >= 8
    first = min(row.round for row in as_rows(counted.slices) if row.instance == 10)
    assert first == finding.excluded


def test_contenders_that_left_a_slow_machine_do_not_make_the_others_climb() -> None:
    """Their means are those of the slow part, beside which it did not look slow."""
    order = random.Random(2)
    names = ("a", "b", "c", "d", "e", "f")
    made = [
        SliceRow(
            name, place, number // 4, number, 1.0 * number, order.gauss(850 if slow else 1000, 5)
        )
        for number in range(ROUNDS)
        for slow in [number < ROUNDS // 3]
        for place, name in enumerate(names if slow else names[:2])
    ]
    assert count_slices(columns(made)).settlings == {}


def test_the_model_reads_the_slices_of_the_names_asked_for() -> None:
    slices = slices_of(count_slices(columns(rows())), ("c", "a"))
    assert slices.contenders == 2
    assert len(slices) == 2 * ROUNDS
    assert sorted(set(slices.instance.tolist())) == [0, 1, 2, 3]
    assert np.exp(slices.log_rate).mean() == pytest.approx(1000, rel=0.01)


def test_a_name_without_slices_changes_nothing() -> None:
    known = columns(rows(climbing=True))
    more = replace(known, names=("no slice", *known.names), contender=known.contender + 1)
    assert count_slices(more).settlings == count_slices(known).settlings
    assert more.present == {*NAMES}


def test_no_slices_are_counted_as_none() -> None:
    assert len(count_slices(SliceTable().columns).slices) == 0


def test_bug_windows_in_which_nothing_was_sent_were_forgotten() -> None:
    """A server that paused by the clock, when it was thawed, had the rate between its pauses."""
    made = [
        row._replace(rate_per_s=0.0, weight=0.0) if row.contender == "a" and row.round % 3 else row
        for row in rows()
    ]
    counted = count_slices(columns(made))
    assert counted.silent == {"a": pytest.approx(2 / 3)}
    assert len(counted.slices) == len(made) - 2 * ROUNDS // 3
    fit = fit_slices(slices_of(counted, ("a", "b", "c")))
    pairs = {frozenset((p.faster, p.slower)): p.ratio for p in rank_from_model(fit, "abc").pairs}
    paused, steady = pairs[frozenset("ab")], pairs[frozenset("bc")]
    assert paused.low < 1 / 3
    assert paused.high > 3
    assert steady.high < 1.1
