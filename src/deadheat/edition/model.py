"""An edition as frozen values: its runs, its levels, and what the board shows of each server."""

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.report.findings.common_rate import CommonCost
from deadheat.report.model.evidence import RawOutput
from deadheat.report.model.sliced import SlicedLevel
from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.ranking.ranks import Ranking
from deadheat.workload import Level


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A gate that failed in some trials of a cell."""

    code: str
    trials: int
    advice: str


@dataclass(frozen=True, slots=True)
class Figures:
    """One contender at one level of one run. `reason` says why it has no rank there; `rank` and
    `of_fastest` are texts as the report has them.
    """

    run: "PartRun"
    level: Level
    version: str | None
    rank: str
    of_fastest: str
    rate_per_s: float | None
    slowest_per_s: float | None
    fastest_per_s: float | None
    p99_us: float | None
    cpu_us: float | None
    memory_bytes: int | None
    trials: int
    valid: int
    checks: tuple[FailedCheck, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a run says of a contender besides its rates."""

    name: str
    server: str
    setting: str
    language: str
    framework: str
    kind: str
    version: str
    homepage: str
    notes: tuple[str, ...]
    ended: Mapping[str, str]
    workloads: tuple[str, ...]
    template_engine: str | None
    build_key: str | None
    cold_start_s: float | None
    head_bytes: int | None
    built: tuple[str, ...]
    start: tuple[str, ...]
    raw: Mapping[str, RawOutput]  # by workload: one trial of each
    fault: str | None


@dataclass(frozen=True, slots=True)
class PartRun:
    """The run that a part came from."""

    run_id: str
    started_at: datetime.datetime
    machine: str
    key: str  # runs of different keys are not joined
    protocol: str
    command: tuple[str, ...]
    margin: float
    confidence: float
    memory: str | None  # what its figures of memory contain
    answer: str  # that of its main level
    main: Level | None
    extensions: int  # each ended with another look


@dataclass(frozen=True, slots=True)
class PartLevel:
    """One level of a run: its ranking, the model of its slices, and the cells by name.

    `request` is the workload's definition; runs whose definitions differ are not joined.
    """

    level: Level
    request: str
    served: bool  # whether any trial has a rate
    ranking: Ranking | None
    sliced: SlicedLevel | None
    controls: frozenset[str]
    limited: frozenset[str]
    cells: Mapping[str, Figures]


@dataclass(frozen=True, slots=True)
class EditionPart:
    """What the board keeps of one run. `costs` are those at its lowest common rate, by workload."""

    run: PartRun
    levels: tuple[PartLevel, ...]
    servers: Mapping[str, ServerFacts]
    costs: Mapping[str, CommonCost] = field(default_factory=dict)

    @property
    def served(self) -> tuple[PartLevel, ...]:
        return tuple(each for each in self.levels if each.served)


@dataclass(frozen=True, slots=True)
class BoardLevel:
    """One column: the ranking over all parts, and each cell.

    `estimate` is the model behind the ranking, of the `names`; None where trials are not slices.
    `older` has the version of each cell whose build is older than that of the server's newest run.
    """

    level: Level
    ranking: Ranking | None
    names: tuple[str, ...]
    estimate: EffectEstimate | None
    controls: frozenset[str]
    cells: Mapping[str, Figures]
    reasons: Mapping[str, str]
    older: Mapping[str, str] = field(default_factory=dict)

    @property
    def separates(self) -> float | None:
        """The smallest difference that it detects with 80 % power; None if unknown."""
        effect = self.ranking.minimum_detectable_effect if self.ranking else math.inf
        return effect if math.isfinite(effect) else None


@dataclass(frozen=True)
class Edition:
    """Servers by workloads. `left_out` says of a run why it is not in."""

    name: str
    runs: tuple[PartRun, ...]
    levels: tuple[BoardLevel, ...]
    servers: Mapping[str, ServerFacts]
    left_out: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, CommonCost] = field(default_factory=dict)

    @property
    def newest(self) -> PartRun:
        return max(self.runs, key=lambda run: run.started_at)

    def elsewhere(self, other: "Edition") -> str | None:
        """What `other` was measured on, if not on this edition's machine and CPUs."""
        return None if other.newest.key == self.newest.key else other.newest.key
