"""Defects of the aggregate: how the repetitions became one figure."""

import itertools
import statistics
from collections.abc import Iterator

from deadheat.audit.beside import Case, agree, agreement_text
from deadheat.numbers import count, listing, percent
from deadheat.protocol import AloneProtocol
from deadheat.report.model.evidence import Defect
from deadheat.stats.repetitions import best_of_bias, differ

ROUNDING_SHARE = 0.002  # a printed mean may be off by this much
COLD_SHARE = 0.95  # a first repetition below this share of the others' median is cold
NAMED = 5


def best_of(case: Case) -> Iterator[Defect]:
    """The best of N rewards scatter: by how much, and what the median would show instead."""
    protocol = case.replay.protocol
    if not isinstance(protocol, AloneProtocol) or protocol.aggregate != "best":
        return
    connections = case.main.connections
    rates = _repeated_rates(case)
    if not rates:
        return
    medians = {row: statistics.median(column) for row, column in rates.items()}
    gains = {row: max(column) / medians[row] - 1 for row, column in rates.items()}
    most = max(gains, key=gains.__getitem__)
    order = agree([max(column) for column in rates.values()], list(medians.values()))
    n = protocol.stopping.repetitions
    yield Defect(
        code="best_of",
        title=f"only the best of {n} is shown",
        rows=(),
        connections=case.figures.levels,
        found=f"in the replay at {connections:,} connections the best is "
        f"{percent(statistics.median(gains.values()))} above the median of its {n} repetitions, "
        f"and for {most} {percent(gains[most])}",
        changes=f"with pure scatter the best of {n} is {best_of_bias(n):.2f} standard deviations "
        f"too high, so the unsteadiest rows gain most; the order by the best and the order by the "
        f"median have {agreement_text(order)}",
    )


def one_sample(case: Case) -> Iterator[Defect]:
    """The page prints one of several repetitions and does not say which."""
    protocol = case.replay.protocol
    if not isinstance(protocol, AloneProtocol):
        return
    if protocol.origin is None or protocol.origin.aggregate_stated:
        return
    connections = case.main.connections
    rates = _repeated_rates(case)
    if not rates:
        return
    typical = statistics.median(max(column) / min(column) - 1 for column in rates.values())
    then = sorted((line.then_per_s for line in case.main.lines if line.then_per_s), reverse=True)
    close = sum(a / b - 1 < typical for a, b in itertools.pairwise(then))
    n = protocol.stopping.repetitions
    yield Defect(
        code="one_sample",
        title=f"only one of {n} repetitions is published",
        rows=(),
        connections=case.figures.levels,
        found=f"the script repeats {n} times and the page prints one; the repetitions of the "
        f"replay at {connections:,} connections are {percent(typical)} apart",
        changes=f"{close} of {count(len(then) - 1, 'neighboring pair')} of the page are closer "
        "than that, so the choice of the repetition may have decided their order",
    )


def _repeated_rates(case: Case) -> dict[str, list[float]]:
    """Requests/s of each repetition at the main level, by row, of the rows with two or more."""
    at = case.main.connections
    rates = {row: contender.rates_at(at) for row, contender in case.running.items()}
    return {row: column for row, column in rates.items() if len(column) > 1}


def wrong_mean(case: Case) -> Iterator[Defect]:
    """A printed mean that differs from that of the published repetitions."""
    protocol = case.replay.protocol
    if case.repetitions is None or not isinstance(protocol, AloneProtocol):
        return
    for (row, connections), repetitions in case.published_repetitions().items():
        printed = case.figures.at(connections).get(row)
        rates = [
            repetition.rate_per_s for repetition in repetitions if repetition.rate_per_s is not None
        ]
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
        if dropped and len(rates) > protocol.stopping.repetitions:
            code, title = "dropped_trial", "a repetition was dropped"
            changes = (
                f"the page leaves out repetition {repetitions[dropped[0]].repetition} of "
                f"{len(rates)} and does not say so, which moves the row by {off}"
            )
        else:
            code, title = "misprint", "a mean that differs from its repetitions"
            changes = f"the row is off by {off}"
        yield Defect(
            code=code,
            title=title,
            rows=(row,),
            connections=(connections,),
            found=f"{printed.rate_per_s:,.0f} is printed; the repetitions are {listed}, "
            f"and their mean is {mean:,.0f}",
            changes=changes,
        )


def unresolved(case: Case) -> Iterator[Defect]:
    """Neighboring rows whose repetitions do not separate them, then and now."""
    then, of_then = _undecided(
        {
            key: [figure.rate_per_s or 0.0 for figure in repetitions]
            for key, repetitions in case.published_repetitions().items()
            if key[0] in case.figures.rows
        }
    )
    now, of_now = _undecided(
        {
            (row, level): contender.rates_at(level)
            for row, contender in case.running.items()
            for level in case.replay.protocol.connections
        }
    )
    if not then and not now:
        return
    parts = []
    if of_then:
        parts.append(f"{then} of {of_then} pairs by the published repetitions")
    if of_now:
        parts.append(f"{now} of {of_now} pairs in the replay")
    yield Defect(
        code="unresolved",
        title="ranks without an interval",
        rows=(),
        connections=case.figures.levels,
        found="neighboring rows that Welch's test at 5 %, uncorrected, does not separate: "
        + "; ".join(parts),
        changes="the page prints each as a difference in rank",
    )


def _undecided(rates: dict[tuple[str, int], list[float]]) -> tuple[int, int]:
    """The number of neighboring pairs of all levels that are not separated, and of all pairs."""
    undecided = pairs = 0
    for level in {connections for _, connections in rates}:
        column = sorted(
            (values for (_, at), values in rates.items() if at == level and len(values) > 1),
            key=statistics.fmean,
        )
        for first, second in itertools.pairwise(column):
            pairs += 1
            undecided += differ(first, second) is False
    return undecided, pairs


def cold_start(case: Case) -> Iterator[Defect]:
    """No warm-up: the first repetition is slower than the later ones."""
    if case.replay.protocol.warmup.kind != "none":
        return
    first_level = case.replay.protocol.connections[0]
    cold: dict[str, float] = {}
    compared = 0
    for row, contender in case.running.items():
        rates = contender.rates_at(first_level)
        if len(rates) > 2:
            compared += 1
            share = rates[0] / statistics.median(rates[1:])
            if share < COLD_SHARE:
                cold[row] = share
    if not cold:
        return
    worst = sorted(cold, key=cold.__getitem__)[:NAMED]
    named = listing([f"{row} {percent(1 - cold[row], 0)}" for row in worst])
    effects = {
        "best": "the best of the repetitions hides it if one of them is warm",
        "mean": "the mean includes it",
        "median": "the median of three mostly hides it; a page with one repetition may show it",
    }
    yield Defect(
        code="cold_start",
        title="no warm-up",
        rows=tuple(cold),
        connections=(first_level,),
        found=f"in {len(cold)} of {count(compared, 'row')} the first repetition of a fresh process "
        f"at {first_level:,} connections was more than {percent(1 - COLD_SHARE, 0)} slower than "
        f"the later ones: {named}",
        changes=effects[case.replay.protocol.aggregate],
    )
