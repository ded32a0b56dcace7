"""Declared looks, and the false alarm rate of the complete stopping rule."""

from collections.abc import Iterator

import numpy as np
import pytest

from deadheat.campaign.calibrate import allowed_rate, false_alarms
from deadheat.stats.distributions import Floats
from deadheat.stats.ranking.alpha_spending import ErrorLevel, Looks
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.pairs import fit_pairs
from deadheat.stats.ranking.ranks import Ranking, rank
from tests.stats.races import MACHINES, Noise, binomial_limit

NAMES = "abcdefgh"
LOOKS = Looks()


def looks_at(rates: Floats, *, in_turn: bool, margin: float = 0.03) -> Iterator[Ranking]:
    """The rankings of a race at each look, until it is settled or its budget ends.

    Blocks alternate between the invocations (`in_turn`), or follow them one after the other.
    """
    invocations, blocks, contenders = rates.shape
    so_far = np.full_like(rates, np.nan)
    taken: int | None = None
    for done in range(invocations * blocks):
        if in_turn:
            block, invocation = divmod(done, invocations)
        else:
            invocation, block = divmod(done, blocks)
        so_far[invocation, block] = rates[invocation, block]
        look = LOOKS.due((done + 1) / (invocations * blocks), taken)
        if look is None:
            continue
        share, taken = LOOKS.share(look, taken), look
        ranking = rank(so_far, NAMES[:contenders], share=share, margin=margin)
        yield ranking
        if ranking.settled:
            return


def test_shares_add_up_to_one() -> None:
    shares = [LOOKS.share(look, look - 1 if look else None) for look in range(40)]
    assert min(shares) > 0
    assert sum(shares[:5]) == pytest.approx(0.9)
    assert sum(shares) == pytest.approx(1, abs=1e-6)
    assert sum(shares) <= 1


def test_skipped_look_leaves_its_share_to_the_next() -> None:
    assert LOOKS.share(3) == pytest.approx(
        sum(LOOKS.share(k, k - 1 if k else None) for k in range(4))
    )
    assert LOOKS.share(4, taken=2) == pytest.approx(LOOKS.share(3, 2) + LOOKS.share(4, 3))


def test_end_of_budget_is_a_look() -> None:
    assert LOOKS.due(0.19) is None
    assert LOOKS.due(0.2) == 0
    assert LOOKS.due(0.28, taken=0) is None
    assert LOOKS.due(1.0, taken=3) == 4
    assert LOOKS.due(1.49, taken=4) is None
    assert LOOKS.due(1.5, taken=4) == 5


def test_level_as_text() -> None:
    level = ErrorLevel(0.95, comparisons=28, share=0.3)
    assert level.alpha == pytest.approx(0.05 * 0.3 / 28)
    assert str(level) == "95 % jointly over 28 pairs, spending 30.0 % of the error"
    assert str(ErrorLevel()) == "95 %"


def test_rejects_an_impossible_level_and_looks_that_do_not_grow() -> None:
    for wrong in ({"confidence": 1.0}, {"comparisons": 0}, {"share": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ErrorLevel(**wrong)
    with pytest.raises(ValueError, match="expected count"):
        Looks(ratio=1.0)


def test_stopping_rule_keeps_false_separations_below_nominal() -> None:
    """Eight equal contenders, so any separation at any look is false."""
    generator = np.random.default_rng(21)
    races = alarms = 0
    for machine in ("quiet", "starts differ", "combination"):
        for in_turn in (True, False):
            for _ in range(10):
                rates = MACHINES[machine].rates(generator, [0.0] * 8, blocks=12)
                alarms += any(
                    pair.verdict is Verdict.SEPARATED
                    for ranking in looks_at(rates, in_turn=in_turn)
                    for pair in ranking.pairs
                )
                races += 1
    assert alarms / races <= binomial_limit(0.05, races)


def test_stopping_rule_keeps_false_equivalences_below_nominal() -> None:
    """The true ratio is exactly the margin, and slices are precise enough for an equivalence."""
    generator = np.random.default_rng(22)
    noise = Noise(slice_sd=0.01, start_sd=0.003)
    alarms = sum(
        any(
            ranking.pair("a", "b").verdict is Verdict.EQUIVALENT
            for ranking in looks_at(
                noise.rates(generator, [np.log(1.03), 0, 0.5, 0.9]), in_turn=True
            )
        )
        for _ in range(60)
    )
    assert alarms / 60 <= binomial_limit(0.05, 60)


def extended(rates: Floats) -> Iterator[Ranking]:
    """A race over the first half of the invocations, then extensions while a pair is open.

    As a user would, it extends by what the open pairs seem to need, so the data set the lengths.
    """
    half = len(rates) // 2
    for last in looks_at(rates[:half], in_turn=True):
        yield last
    decided: dict[tuple[str, str], Verdict] = {}
    done, number = half, 0
    while not last.settled and done < len(rates):
        decided |= {
            (pair.faster, pair.slower): pair.verdict
            for pair in last.pairs
            if pair.verdict is not Verdict.UNDECIDED
        }
        needed = max(
            (pair.effort.extra_invocations for pair in last.neighbors if pair.effort), default=1
        )
        done, number = min(done + max(needed, 1), len(rates)), number + 1
        share = LOOKS.extension_share(number)
        last = rank(rates[:done], NAMES[: rates.shape[2]], share=share, decided=decided)
        yield last


def test_extensions_share_the_reserve() -> None:
    shares = [LOOKS.extension_share(number) for number in range(1, 30)]
    assert shares[0] == LOOKS.reserve / 2
    assert LOOKS.spent(1.0) + sum(shares) == pytest.approx(1)
    assert sum(shares) < LOOKS.reserve


def test_extensions_keep_false_separations_below_nominal() -> None:
    """Eight equal contenders, and a user who extends while a pair is open."""
    generator = np.random.default_rng(25)
    races = alarms = 0
    for machine in ("quiet", "starts differ", "combination"):
        for _ in range(10):
            rates = MACHINES[machine].rates(generator, [0.0] * 8, invocations=8, blocks=6)
            alarms += any(
                pair.verdict is Verdict.SEPARATED
                for ranking in extended(rates)
                for pair in ranking.pairs
            )
            races += 1
    assert alarms / races <= binomial_limit(0.05, races)


def test_what_a_look_has_shown_stays_shown_at_a_smaller_share() -> None:
    rates = Noise().rates(np.random.default_rng(26), [0.0, -0.06, -1.0], blocks=20)
    first = rank(rates, "abc", share=0.9)
    assert first.pair("a", "b").verdict is Verdict.SEPARATED
    tiny = 1e-9
    assert rank(rates, "abc", share=tiny).pair("a", "b").verdict is Verdict.UNDECIDED
    kept = rank(rates, "abc", share=tiny, decided={("a", "b"): Verdict.SEPARATED})
    assert kept.pair("a", "b").verdict is Verdict.SEPARATED
    assert kept.pair("a", "b").ratio.low == 1.0


def test_a_kept_verdict_that_the_estimate_contradicts_is_dropped() -> None:
    rates = Noise().rates(np.random.default_rng(27), [0.0, 0.0, -1.0], blocks=20)
    fastest = rank(rates, "abc").rows[0].name
    other = "b" if fastest == "a" else "a"
    kept = rank(rates, "abc", decided={(other, fastest): Verdict.SEPARATED})
    assert kept.pair("a", "b").verdict is not Verdict.SEPARATED


def test_clear_race_stops_at_the_first_look_in_the_true_order() -> None:
    rates = Noise(start_sd=0.01).rates(
        np.random.default_rng(23), [0.0, -0.5, -1.0, -1.5], blocks=20
    )
    rankings = list(looks_at(rates, in_turn=True))
    assert len(rankings) == 1
    assert [row.rank for row in rankings[0].rows] == ["1", "2", "3", "4"]


def test_dead_heat_settles_as_equivalent() -> None:
    rates = Noise(slice_sd=0.01).rates(np.random.default_rng(24), [0.0, 0.0, -1.0], blocks=20)
    *_, last = looks_at(rates, in_turn=True)
    assert last.settled
    assert last.pair("a", "b").verdict is Verdict.EQUIVALENT
    assert last.dead_heats == (tuple(row.name for row in last.rows[:2]),)


def test_allowed_rate_at_200_pairs() -> None:
    assert allowed_rate(0.05, 200) == pytest.approx(0.075, abs=0.0005)


@pytest.mark.parametrize("machine", ["starts differ", "combination"])
def test_copies_of_one_server_pass(machine: str) -> None:
    generator = np.random.default_rng(101)
    runs = [fit_pairs(MACHINES[machine].rates(generator, [0.0] * 8)) for _ in range(8)]
    result = false_alarms(runs)
    assert result.null_pairs == 224
    assert result.passed


def test_different_servers_fail() -> None:
    generator = np.random.default_rng(102)
    gaps = np.linspace(0, 0.5, 8).tolist()
    runs = [fit_pairs(Noise().rates(generator, gaps)) for _ in range(8)]
    result = false_alarms(runs)
    assert result.false_difference_rate > result.allowed
    assert not result.passed


def test_too_few_pairs_fail_and_none_is_an_error() -> None:
    result = false_alarms([fit_pairs(Noise().rates(np.random.default_rng(103), [0.0] * 4))])
    assert result.null_pairs == 6
    assert not result.passed
    with pytest.raises(ValueError, match="no pair"):
        false_alarms([])
