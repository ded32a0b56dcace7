"""Defects of the aggregate: what was made of the repetitions."""

import itertools
import statistics
from collections.abc import Iterator

from deadheat.audit.beside import agree
from deadheat.audit.case import Case, Defect, told_agreement
from deadheat.report.format import count, listing, percent
from deadheat.stats.repetitions import best_of_bias, differ

ROUNDING_SHARE = 0.002  # a printed mean may be off by this much
COLD_SHARE = 0.95  # a first repetition below this share of the others' median was cold
NAMED = 5


def best_of(case: Case) -> Iterator[Defect]:
    """The best of N rewards scatter: how much, and what the median would say instead."""
    protocol = case.replay.protocol
    if protocol.aggregate != "best":
        return
    connections = case.main.connections
    rates = {
        row: found
        for row, one in case.running.items()
        if len(found := one.rates_at(connections)) > 1
    }
    if not rates:
        return
    gains = {row: max(found) / statistics.median(found) - 1 for row, found in rates.items()}
    most = max(gains, key=gains.__getitem__)
    order = agree(
        [max(found) for found in rates.values()],
        [statistics.median(found) for found in rates.values()],
    )
    n = protocol.stopping.repetitions
    yield Defect(
        code="best_of",
        title=f"the best of {n} is shown",
        rows=(),
        connections=case.figures.levels,
        found=f"in the replay at {connections:,} connections the best lies "
        f"{percent(statistics.median(gains.values()))} above the median of its {n} repetitions, "
        f"in {most} {percent(gains[most])}",
        changes=f"of pure scatter the best of {n} lies {best_of_bias(n):.2f} standard deviations "
        f"too high, so the unsteady gain most; the order by the best and by the median have "
        f"{told_agreement(order)}",
    )


def one_sample(case: Case) -> Iterator[Defect]:
    """One of the repetitions is printed, and the page does not say which."""
    protocol = case.replay.protocol
    if protocol.origin is None or protocol.origin.aggregate_stated:
        return
    spreads = {
        row: max(found) / min(found) - 1
        for row, one in case.running.items()
        if len(found := one.rates_at(case.main.connections)) > 1
    }
    if not spreads:
        return
    typical = statistics.median(spreads.values())
    then = sorted((line.then_per_s for line in case.main.lines if line.then_per_s), reverse=True)
    close = sum(a / b - 1 < typical for a, b in itertools.pairwise(then))
    yield Defect(
        code="one_sample",
        title=f"one published sample of {protocol.stopping.repetitions}",
        rows=(),
        connections=case.figures.levels,
        found=f"the script repeats {protocol.stopping.repetitions} times and the page prints one; "
        f"the repetitions of the replay at {case.main.connections:,} connections lie "
        f"{percent(typical)} apart",
        changes=f"{close} of {count(len(then) - 1, 'neighboring pair')} of the page are closer "
        "than that: which sample was taken may have decided their order",
    )


def wrong_mean(case: Case) -> Iterator[Defect]:
    """A printed mean that the published repetitions do not have: one was dropped, or misprinted."""
    if case.repetitions is None:
        return
    for (row, connections), ones in case.published_repetitions().items():
        printed = case.figures.at(connections).get(row)
        rates = [one.rate_per_s for one in ones if one.rate_per_s is not None]
        if printed is None or printed.rate_per_s is None or len(rates) < 2:
            continue
        near = max(printed.precision, ROUNDING_SHARE * printed.rate_per_s)
        mean = statistics.fmean(rates)
        if abs(mean - printed.rate_per_s) <= near:
            continue
        dropped = [
            place
            for place in range(len(rates))
            if abs(statistics.fmean(rates[:place] + rates[place + 1 :]) - printed.rate_per_s)
            <= near
        ]
        off = percent(printed.rate_per_s / mean - 1)
        listed = listing([f"{rate:,.0f}" for rate in rates])
        if dropped and len(rates) > case.replay.protocol.stopping.repetitions:
            code, title = "dropped_trial", "a repetition was dropped"
            changes = (
                f"repetition {ones[dropped[0]].repetition} of {len(rates)} is left out without a "
                f"word, which moves the row by {off}"
            )
        else:
            code, title = "misprint", "a mean that its repetitions do not have"
            changes = f"the row is off by {off}"
        yield Defect(
            code=code,
            title=title,
            rows=(row,),
            connections=(connections,),
            found=f"{printed.rate_per_s:,.0f} is printed; the repetitions are {listed}, "
            f"their mean {mean:,.0f}",
            changes=changes,
        )


def unresolved(case: Case) -> Iterator[Defect]:
    """Neighbouring rows whose repetitions do not tell them apart, then and now."""
    then, of_then = _undecided(
        {
            key: [one.rate_per_s or 0.0 for one in ones]
            for key, ones in case.published_repetitions().items()
            if key[0] in case.figures.rows
        }
    )
    now, of_now = _undecided(
        {
            (row, level): one.rates_at(level)
            for row, one in case.running.items()
            for level in case.replay.protocol.connections
        }
    )
    if not then and not now:
        return
    parts = []
    if of_then:
        parts.append(f"then {then} of {of_then} by the published repetitions")
    if of_now:
        parts.append(f"in the replay {now} of {of_now}")
    yield Defect(
        code="unresolved",
        title="ranks without an interval",
        rows=(),
        connections=case.figures.levels,
        found="neighbours that Welch's test does not tell apart at 5 %, uncorrected: "
        + "; ".join(parts),
        changes="each is printed as a place won or lost",
    )


def _undecided(rates: dict[tuple[str, int], list[float]]) -> tuple[int, int]:
    """How many neighbouring pairs of a level are not told apart, of how many."""
    undecided = pairs = 0
    for level in {connections for _, connections in rates}:
        column = sorted(
            (found for (_, at), found in rates.items() if at == level and len(found) > 1),
            key=statistics.fmean,
        )
        for first, second in itertools.pairwise(column):
            pairs += 1
            undecided += differ(first, second) is False
    return undecided, pairs


def cold_start(case: Case) -> Iterator[Defect]:
    """No warm-up: a first repetition that is slower than those after it."""
    if case.replay.protocol.warmup.kind != "none":
        return
    first_level = case.replay.protocol.connections[0]
    cold: dict[str, float] = {}
    looked = 0
    for row, one in case.running.items():
        rates = one.rates_at(first_level)
        if len(rates) > 2:
            looked += 1
            share = rates[0] / statistics.median(rates[1:])
            if share < COLD_SHARE:
                cold[row] = share
    if not cold:
        return
    worst = sorted(cold, key=cold.__getitem__)[:NAMED]
    named = listing([f"{row} {percent(1 - cold[row], 0)}" for row in worst])
    follows = {
        "best": "the best hides it, as long as one repetition is warm",
        "mean": "the mean keeps it",
        "median": "the median of three keeps little of it; a page that prints one may print it",
    }[case.replay.protocol.aggregate]
    yield Defect(
        code="cold_start",
        title="no warm-up",
        rows=tuple(cold),
        connections=(first_level,),
        found=f"the first repetition of a fresh process at {first_level:,} connections was more "
        f"than {percent(1 - COLD_SHARE, 0)} slower than those after it in {len(cold)} of "
        f"{count(looked, 'row')}: {named}",
        changes=follows,
    )
