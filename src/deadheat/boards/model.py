"""A board: every figure that its files give, by profile and edition."""

import datetime
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

EDITION_SHARE = 0.5  # of the entries of the largest edition: one with fewer is an update
EDITION_ENTRIES_MIN = 10


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of a board. What the file does not give is None.

    `profile` is a test at a number of connections, `family` the test. `source` identifies what was
    measured: a hash of the entry's source, or its version. `depth` is how many requests a
    connection has under way by design. `cpus_used` counts CPUs. `ok` and `failed` are answers by
    status, `errors` requests without an answer, `requests` all of them. `unreadable` are latencies
    that are none, with the text in their place.
    """

    profile: str
    family: str
    entry: str
    edition: str
    rate_per_s: float
    connections: int | None = None
    language: str | None = None
    mean_s: float | None = None
    p50_s: float | None = None
    p75_s: float | None = None
    p90_s: float | None = None
    p99_s: float | None = None
    duration_s: float | None = None
    client_threads: int | None = None
    cpus_used: float | None = None
    requests: int | None = None
    ok: int | None = None
    failed: int | None = None
    errors: int | None = None
    depth: int = 1
    source: str | None = None
    unreadable: tuple[str, ...] = ()

    @property
    def setup(self) -> tuple[object, ...]:
        """What the board changed about its own load; repeats have the same."""
        return (self.connections, self.client_threads, self.duration_s, self.depth)

    @property
    def figures(self) -> tuple[object, ...]:
        """Equal figures in two editions are one measurement, carried over."""
        return (self.rate_per_s, self.mean_s, self.p50_s, self.p99_s)


@dataclass(frozen=True, slots=True)
class Table:
    """The figures that a board ranks: one edition of a profile, fastest first."""

    board: "LiveBoard"
    profile: str
    edition: str
    rows: tuple[Measurement, ...]

    @property
    def rated(self) -> tuple[Measurement, ...]:
        """The rows with a rate above zero."""
        return tuple(row for row in self.rows if row.rate_per_s > 0)


@dataclass(frozen=True)
class LiveBoard:
    """`editions` are in the order of time. `cpus` is how many the servers may use, if known."""

    name: str
    files: tuple[str, ...]
    editions: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    cpus: int | None = None

    @cached_property
    def profiles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.profile for row in self.measurements))

    @cached_property
    def _by_profile(self) -> dict[str, tuple[Measurement, ...]]:
        order = {edition: place for place, edition in enumerate(self.editions)}
        rows: dict[str, list[Measurement]] = {}
        for row in self.measurements:
            rows.setdefault(row.profile, []).append(row)
        return {
            profile: tuple(sorted(several, key=lambda row: order[row.edition]))
            for profile, several in rows.items()
        }

    def of(self, profile: str) -> tuple[Measurement, ...]:
        """All rows of a profile, in the order of time."""
        return self._by_profile[profile]

    def whole_editions(self, profile: str) -> tuple[str, ...]:
        """The editions with at least half as many entries as the largest one."""
        counts = Counter(row.edition for row in self.of(profile))
        least = max(EDITION_ENTRIES_MIN, EDITION_SHARE * max(counts.values()))
        return tuple(edition for edition in self.editions if counts[edition] >= least)

    def edition(self, profile: str, edition: str) -> dict[str, Measurement]:
        return {row.entry: row for row in self.of(profile) if row.edition == edition}

    def table(self, profile: str) -> Table:
        """The newest whole edition; without one, the newest figure of each entry."""
        whole = self.whole_editions(profile)
        newest = whole[-1] if whole else "the newest of each entry"
        rows = (
            self.edition(profile, newest) if whole else {row.entry: row for row in self.of(profile)}
        )
        ordered = sorted(rows.values(), key=lambda row: (-row.rate_per_s, row.entry))
        return Table(self, profile, newest, tuple(ordered))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        return tuple(self.table(profile) for profile in self.profiles)


def in_order(editions: Iterable[str]) -> tuple[str, ...]:
    """Editions by date if each begins with one, else as they were given."""
    given = tuple(dict.fromkeys(editions))
    dates = {edition: date for edition in given if (date := date_of(edition)) is not None}
    if len(dates) < len(given):
        return given
    return tuple(sorted(given, key=lambda edition: (dates[edition], edition)))


def date_of(edition: str) -> datetime.datetime | None:
    """The moment that an edition's label begins with."""
    for length in (19, 16, 10):
        try:
            return datetime.datetime.fromisoformat(edition[:length]).replace(tzinfo=None)
        except ValueError:
            continue
    return None


def days_between(first: str, second: str) -> float | None:
    dates = (date_of(first), date_of(second))
    if dates[0] is None or dates[1] is None:
        return None
    return (dates[1] - dates[0]).total_seconds() / 86400
