"""Whether controls take part in the model of a race."""

import numpy as np

from deadheat.stats.model.counted_slices import count_slices, slices_of
from deadheat.stats.model.slice_model import ModelFit, fit_slices
from deadheat.stats.model.slices import SliceColumns, SliceRow, SliceTable, modeled_names

ROUNDS = 8
CONTROLS = ["null-server", "reference"]


def race(blocks: list[str]) -> SliceColumns:
    """Blocks of these contenders (one letter each) and a control, with an instance per block.

    The machine's speed changes from block to block, and the control's rate more than the others'.
    The instances of `b` differ by 3 %.
    """
    generator = np.random.default_rng(1)
    table = SliceTable()
    for number, names in enumerate(blocks):
        speed = 0.2 * (number % 2)
        start = generator.normal(0, 0.03)
        for round_ in range(ROUNDS):
            for place, name in enumerate([*names, *CONTROLS]):
                control = name in CONTROLS
                instance = 1000 + place if control else 10 * number + ord(name)
                log_rate = 9 + speed * (1.5 if control else 1.0)
                log_rate += generator.normal(0, 0.01) + (start if name == "b" else 0.0)
                at_s = (number * ROUNDS + round_) * 2.0 + 0.2 * place
                row = SliceRow(
                    name, instance, number, number * ROUNDS + round_, at_s, float(np.exp(log_rate))
                )
                table.add([row])
    return table.columns


def fit(columns: SliceColumns, names: list[str]) -> ModelFit:
    return fit_slices(slices_of(count_slices(columns), names))


def test_controls_are_left_out_where_contenders_race_together() -> None:
    assert modeled_names(race(["ab", "ab", "a"]), ["a", "b", "c"], CONTROLS) == ["a", "b"]


def test_controls_link_the_groups_of_a_large_field() -> None:
    names = modeled_names(race(["ab", "cd", "bc", "da"]), "abcd", CONTROLS)
    assert names == [*"abcd", *CONTROLS]


def test_a_single_contender_is_compared_with_the_controls() -> None:
    assert modeled_names(race(["a", "a"]), ["a"], CONTROLS) == ["a", *CONTROLS]


def test_a_change_of_speed_does_not_widen_the_interval_of_two_contenders() -> None:
    """`regress` said INCONCLUSIVE of -5 %: 0.951 [0.903, 1.002] after 26 blocks, not +- 0.9 %."""
    columns = race(["ab"] * 8)
    widths = [
        float(np.sqrt(fit(columns, names).estimate.variance[0, 1]))
        for names in (["a", "b"], ["a", "b", *CONTROLS])
    ]
    assert widths[0] < widths[1] / 2


def test_an_instance_alone_in_its_block_says_nothing_of_how_much_instances_differ() -> None:
    """Its block has no other; the variance of all was 10,000 %."""
    alone = fit(race(["ab"] * 6 + ["b"]), ["a", "b"]).estimate.instance_variance
    together = fit(race(["ab"] * 6), ["a", "b"]).estimate.instance_variance
    assert np.allclose(alone, together, rtol=0.5, atol=1e-4)
