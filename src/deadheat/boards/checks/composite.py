"""A composite score, and how its order changes with what is filtered or left out.

The rule is HttpArena's: for each test the mean rate over its numbers of connections, in percent of
the best entry's, summed over the tests; a missing test counts zero.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from deadheat.boards.checks.repeats import DRAWS, SEED, Noise
from deadheat.boards.model import LiveBoard
from deadheat.boards.readings import BoardFinding, rounded
from deadheat.stats.agreement import tau_b
from deadheat.stats.distributions import Floats

BOARDS = ("httparena",)  # those that publish such a score
TESTS_MIN, ENTRIES_MIN = 3, 10
FIRST = 10


def composite(board: LiveBoard, noises: dict[str, Noise]) -> BoardFinding | None:
    """The order by the score, without each test, without each entry, and with other noise."""
    if board.name not in BOARDS:
        return None
    profiles, entries, rates = matrix(board)
    families = [board.of(profile)[0].family for profile in profiles]
    if len({*families}) < TESTS_MIN or len(entries) < ENTRIES_MIN:
        return None
    scores = scores_of(rates, families)
    without_test = {
        family: scores_of(
            rates[:, [other != family for other in families]],
            [other for other in families if other != family],
        )
        for family in dict.fromkeys(families)
    }
    agreement = {family: tau_b(scores, others) for family, others in without_test.items()}
    moves = {
        family: np.abs(_ranks(scores) - _ranks(others)) for family, others in without_test.items()
    }
    weakest = max(moves, key=lambda family: (int(moves[family].max()), family))
    removals = [reversed_pairs(rates, families, scores, place) for place in range(len(entries))]
    worst = int(np.argmax(removals))
    first, last = places_with_noise(rates, families, [noises.get(each) for each in profiles])
    order = np.argsort(-scores, kind="stable")
    leaders = {entries[int(np.argmax(others))] for others in without_test.values()} - {
        entries[int(order[0])]
    }
    partial = int((rates == 0).any(axis=1).sum())
    return BoardFinding(
        code="composite",
        board=board.name,
        profile="all",
        edition=board.editions[-1],
        fires=True,
        judged=len(entries),
        found=int((last > first).sum()),
        values={
            "tests": len({*families}),
            "partial": partial,
            "least_tau_b": rounded(min(agreement.values())),
            "most_moved": int(moves[weakest].max()),
            "most_moved_without": weakest,
            "most_moved_entry": entries[int(np.argmax(moves[weakest]))],
            "other_leaders": ", ".join(sorted(leaders)) or None,
            "reversed": int(removals[worst]),
            "reversed_without": entries[worst],
            "reversing": sum(count > 0 for count in removals),
            "median_places": int(np.median(last - first + 1)),
            "with_first": int((first == 1).sum()),
        },
        rows=tuple(
            {
                "entry": entries[place],
                "score": rounded(float(scores[place])),
                "first": int(first[place]),
                "last": int(last[place]),
            }
            for place in order[:FIRST].tolist()
        ),
    )


def matrix(board: LiveBoard) -> tuple[list[str], list[str], Floats]:
    """Profiles, entries of the newest tables, and their rates [entry, profile]; 0 for none.

    A profile without a whole edition is left out.
    """
    tables = [table for table in board.tables if table.edition in board.editions]
    entries = sorted({row.entry for table in tables for row in table.rows})
    places = {entry: place for place, entry in enumerate(entries)}
    rates = np.zeros((len(entries), len(tables)))
    for column, table in enumerate(tables):
        for row in table.rows:
            rates[places[row.entry], column] = row.rate_per_s
    return [table.profile for table in tables], entries, rates


def scores_of(rates: Floats, families: Sequence[str]) -> Floats:
    """The sum over tests of the mean rate in percent of the best; [entry]."""
    scores = np.zeros(len(rates))
    for family in dict.fromkeys(families):
        of_test = rates[:, [other == family for other in families]]
        means = of_test.sum(axis=1) / np.maximum((of_test > 0).sum(axis=1), 1)
        if means.max() > 0:
            scores += 100 * means / means.max()
    return scores


def reversed_pairs(rates: Floats, families: Sequence[str], scores: Floats, place: int) -> int:
    """Pairs of the others that change order if one entry is filtered out.

    The best of each test is 100, so without it the points of all others grow by unequal amounts.
    """
    kept = np.arange(len(rates)) != place
    before, after = scores[kept], scores_of(rates[kept], families)
    signs = np.sign(np.subtract.outer(before, before)) * np.sign(np.subtract.outer(after, after))
    return int((signs < 0).sum() // 2)


def places_with_noise(
    rates: Floats, families: Sequence[str], noises: Iterable[Noise | None]
) -> tuple[Floats, Floats]:
    """The places of each entry in 95 % of tables whose figures have the board's noise once more."""
    generator = np.random.default_rng(SEED)
    factors = np.ones((DRAWS // 4, *rates.shape))
    for column, noise in enumerate(noises):
        if noise is not None:
            shape = factors.shape[:2]
            drawn = generator.choice(noise.changes, shape) * generator.choice([-1.0, 1.0], shape)
            factors[:, :, column] = np.exp(drawn / np.sqrt(2))
    ranks = np.array([_ranks(scores_of(rates * drawn, families)) for drawn in factors])
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
    return np.floor(low), np.ceil(high)


def _ranks(scores: Floats) -> Floats:
    return np.asarray(1.0 + (scores[None, :] > scores[:, None]).sum(axis=1))
