"""A board's own noise: entries that it measured again with unchanged source.

Two measurements of one entry are a repeat if their source and the board's load are the same and
their figures differ; equal figures are one measurement, carried over. A measurement with more CPUs
than the board now gives was made with other CPUs, and is left out. Where two editions share at
least `SHIFT_MIN` repeats, the median change of these is that of the machine, and is taken out.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from deadheat.boards.model import LiveBoard, Measurement, Table, days_between
from deadheat.boards.readings import ROWS_MAX, BoardFinding, RepeatPicture, finding_of, rounded
from deadheat.stats.distributions import Floats

SHIFT_MIN = 20
REPEATS_MIN = 20  # with fewer, no limit is known that one change in twenty passes
OTHER_CPUS = 1.15  # times those that the board gives
ONCE_IN = 20  # the needed difference is passed by chance this rarely
UNLIKE_P = 0.05  # a test with more changes beyond the limit of all is noisier than they are
RESAMPLES, SEED = 1000, 20
DRAWS, PICTURED = 2000, 400
NEAR_DAYS = 7.0
NORMAL_MEDIAN = 0.6745  # median of a standard normal deviate without its sign
HEAVY = 1.5  # times the normal: noise with more has heavy tails


@dataclass(frozen=True, slots=True)
class Repeat:
    """Two measurements of one entry; `change` is the log of later over earlier rate."""

    profile: str
    family: str
    entry: str
    earlier: str
    later: str
    rate_per_s: float
    change: float

    @property
    def days(self) -> float | None:
        return days_between(self.earlier, self.later)


@dataclass(frozen=True)
class Noise:
    """The changes of repeats, and what two entries must differ by.

    `needed` is what one in twenty changes passes, without their sign, as a log. `source` says
    whose repeats they are.
    """

    repeats: tuple[Repeat, ...]
    source: str

    @property
    def changes(self) -> Floats:
        return np.array([repeat.change for repeat in self.repeats])

    @property
    def needed(self) -> float:
        return quantile_needed(self.changes)

    def interval(self) -> tuple[float, float]:
        """Of `needed`: a bootstrap of entries, since those of one entry belong together."""
        by_entry: dict[tuple[str, str], list[float]] = {}
        for each in self.repeats:
            by_entry.setdefault((each.profile, each.entry), []).append(each.change)
        groups = [np.array(several) for several in by_entry.values()]
        generator = np.random.default_rng(SEED)
        drawn = generator.integers(0, len(groups), (RESAMPLES, len(groups)))
        values = [quantile_needed(np.concatenate([groups[at] for at in row])) for row in drawn]
        low, high = np.quantile(values, [0.025, 0.975])
        return float(low), float(high)

    def jointly(self, entries: int) -> float:
        """The difference that no two of so many equal entries pass, in 19 of 20 tables."""
        generator = np.random.default_rng(SEED)
        errors = self.changes / math.sqrt(2)
        signs = generator.choice([-1.0, 1.0], (DRAWS, entries))
        drawn = signs * generator.choice(errors, (DRAWS, entries))
        return float(np.quantile(np.ptp(drawn, axis=1), 1 - 1 / ONCE_IN))


def quantile_needed(changes: Floats) -> float:
    """What one more change passes once in twenty times, without its sign.

    The expected share of one of n sorted changes is its place / (n + 1), so few changes need more
    than many. With fewer than 19, it is the largest one.
    """
    return float(np.quantile(np.abs(changes), 1 - 1 / ONCE_IN, method="weibull"))


def repeats_of(board: LiveBoard) -> dict[str, tuple[Repeat, ...]]:
    """All repeats by profile, without what all entries changed between two editions."""
    repeats = [repeat for profile in board.profiles for repeat in _of_profile(board, profile)]
    changes: dict[tuple[str, str], list[float]] = {}
    for repeat in repeats:
        changes.setdefault((repeat.earlier, repeat.later), []).append(repeat.change)
    shifts = {
        editions: float(np.median(several)) if len(several) >= SHIFT_MIN else 0.0
        for editions, several in changes.items()
    }
    by_profile: dict[str, list[Repeat]] = {profile: [] for profile in board.profiles}
    for each in repeats:
        shift = shifts[each.earlier, each.later]
        by_profile[each.profile].append(replace(each, change=each.change - shift))
    return {profile: tuple(several) for profile, several in by_profile.items()}


def _of_profile(board: LiveBoard, profile: str) -> Iterator[Repeat]:
    by_entry: dict[str, list[Measurement]] = {}
    for row in board.of(profile):
        if row.rate_per_s > 0 and row.source is not None and not _with_other_cpus(board, row):
            by_entry.setdefault(row.entry, []).append(row)
    for entry, rows in by_entry.items():
        for first, second in pairwise(_measured(rows)):
            if first.source == second.source and first.setup == second.setup:
                yield Repeat(
                    profile=profile,
                    family=first.family,
                    entry=entry,
                    earlier=first.edition,
                    later=second.edition,
                    rate_per_s=first.rate_per_s,
                    change=math.log(second.rate_per_s / first.rate_per_s),
                )


def _with_other_cpus(board: LiveBoard, row: Measurement) -> bool:
    return bool(board.cpus and row.cpus_used and row.cpus_used > OTHER_CPUS * board.cpus)


def _measured(rows: Sequence[Measurement]) -> list[Measurement]:
    """Without figures that were carried over from the row before."""
    measured: list[Measurement] = []
    for row in rows:
        if not measured or row.figures != measured[-1].figures:
            measured.append(row)
    return measured


def noises_of(repeats: Mapping[str, tuple[Repeat, ...]]) -> dict[str, Noise]:
    """The noise of each profile; empty if the whole board has too few repeats.

    It is that of the profile's own repeats, else of those of its test, else of all profiles.
    """
    pooled = tuple(repeat for several in repeats.values() for repeat in several)
    if len(pooled) < REPEATS_MIN:
        return {}
    of_test: dict[str, list[Repeat]] = {}
    for repeat in pooled:
        of_test.setdefault(repeat.family, []).append(repeat)
    every = Noise(pooled, "all profiles")
    noises = {}
    for profile, own in repeats.items():
        same_test = tuple(of_test[own[0].family]) if own else ()
        if len(own) >= REPEATS_MIN:
            noises[profile] = Noise(own, "this profile")
        elif len(same_test) >= REPEATS_MIN:
            noises[profile] = Noise(same_test, "this test")
        elif same_test and _is_noisier(same_test, every.needed):
            noises[profile] = Noise(same_test, "this test, its largest")
        else:
            noises[profile] = every
    return noises


def _is_noisier(repeats: Sequence[Repeat], needed: float) -> bool:
    """Whether more of these pass the limit of all profiles than chance allows (binomial)."""
    from scipy import special  # it takes long to import

    passing = sum(abs(repeat.change) > needed for repeat in repeats)
    by_chance = special.bdtrc(passing - 1, len(repeats), 1 / ONCE_IN) if passing else 1.0
    return float(by_chance) < UNLIKE_P


def repeats(table: Table, own: Sequence[Repeat], noise: Noise | None) -> BoardFinding | None:
    """How far measurements of unchanged source are apart, by time between them and by rate."""
    if not own or noise is None:
        return None
    changes = np.array([repeat.change for repeat in own])
    apart = np.abs(changes)
    near = [abs(each.change) for each in own if each.days is not None and each.days <= NEAR_DAYS]
    far = [abs(each.change) for each in own if each.days is not None and each.days > NEAR_DAYS]
    days = [each.days for each in own if each.days is not None]
    low, high = noise.interval()
    spread = float(np.sqrt(np.mean(changes**2) / 2))
    typical = float(np.median(apart)) / NORMAL_MEDIAN / math.sqrt(2)
    ordered = sorted(own, key=lambda each: (-abs(each.change), each.entry))
    return finding_of(
        "repeats",
        table,
        fires=True,
        judged=len(own),
        found=int((apart > noise.needed).sum()),
        values={
            "entries": len({each.entry for each in own}),
            "median_change": _share(float(np.median(apart))),
            "needed": _share(noise.needed),
            "needed_low": _share(low),
            "needed_high": _share(high),
            "needed_from": noise.source,
            "largest": _share(float(apart.max())),
            "spread_pooled": rounded(spread),
            "spread_typical": rounded(typical),
            "heavy": "yes" if spread > HEAVY * typical else "no",
            "median_days": rounded(float(np.median(days)), 3) if days else None,
            "near": len(near),
            "near_median": _share(float(np.median(near))) if near else None,
            "far": len(far),
            "far_median": _share(float(np.median(far))) if far else None,
            **_by_rate(own),
        },
        rows=[
            {
                "entry": each.entry,
                "earlier": each.earlier,
                "later": each.later,
                "rate_per_s": rounded(each.rate_per_s),
                "ratio": rounded(math.exp(each.change)),
            }
            for each in ordered[:ROWS_MAX]
        ],
    )


def _by_rate(own: Sequence[Repeat]) -> dict[str, float | None]:
    """The median change of the slowest, the middle and the fastest third."""
    ordered = sorted(own, key=lambda each: each.rate_per_s)
    thirds = np.array_split(np.array([abs(each.change) for each in ordered]), 3)
    return {
        f"{name}_third": _share(float(np.median(third))) if len(third) else None
        for name, third in zip(("slowest", "middle", "fastest"), thirds, strict=True)
    }


def picture(table: Table, repeats: Sequence[Repeat]) -> RepeatPicture:
    """At most `PICTURED` of a profile's repeats, evenly chosen in the order of their rates."""
    own = sorted(repeats, key=lambda each: each.rate_per_s)
    chosen = sorted({*np.linspace(0, len(own) - 1, min(len(own), PICTURED)).astype(int).tolist()})
    taken = [own[place] for place in chosen] if own else []
    return RepeatPicture(
        board=table.board.name,
        profile=table.profile,
        rates_per_s=tuple(rounded(each.rate_per_s) for each in taken),
        ratios=tuple(rounded(math.exp(each.change)) for each in taken),
        days=tuple(None if each.days is None else rounded(each.days, 3) for each in taken),
    )


def _share(log_ratio: float) -> float:
    """A log ratio as a share above 1."""
    return rounded(math.expm1(log_ratio))
