"""What a run has beside its rates, as the JSON document shows it: how servers were built, what the
tool printed, published figures, defects, recoveries, and losses on a link.
"""

import datetime
import functools
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import NonNegativeInt

from deadheat.catalog.layers import layered_names, shipped_root
from deadheat.foreign_text import one_line, printable
from deadheat.measure.gates.evidence import LOAD
from deadheat.protocol.figures import PublishedFigures, read_figures
from deadheat.report.model.series import SHAPE, Finite
from deadheat.store import StoredRun
from deadheat.store.json_columns import Counters, StoredClaim, TrialResult
from deadheat.store.rows import StoredBuild, StoredTrial, TrialOutput

DROPS = ("ifInDiscards", "ifOutDiscards")
OUTPUT_MAX = 6_000
LOG_MAX = 3_000
PACKED = re.compile(r"[A-Za-z0-9+/=_-]{160,}")  # histograms in base64: the curves show them


@dataclass(frozen=True, slots=True)
class Defect:
    """A way in which published or replayed figures mislead."""

    __pydantic_config__ = SHAPE

    code: str
    title: str
    rows: tuple[str, ...]
    """Empty if all rows are affected."""
    connections: tuple[int, ...]
    found: str
    changes: str


@dataclass(frozen=True, slots=True)
class RecoveryRecord:
    """What came after one trial of a decay study."""

    __pydantic_config__ = SHAPE

    invocation: int
    block: int
    recovered_after_s: Finite | None
    """The start of the first probe that reached the rate again; null if none did."""
    cpu_burnt_s: Finite | None
    """CPU time that the server used after the load had ended."""
    burnt_for_s: Finite | None
    idle: bool | None
    """Whether it became idle while it was watched."""
    reason: str | None


def recoveries(trials: Sequence[StoredTrial]) -> tuple[RecoveryRecord, ...]:
    """Those among a contender's trials, in their order."""
    return tuple(
        RecoveryRecord(
            invocation=trial.invocation,
            block=trial.block,
            recovered_after_s=result.recovered_after_s,
            cpu_burnt_s=result.cpu_burnt_s,
            burnt_for_s=result.burnt_for_s,
            idle=result.idle,
            reason=trial.reason,
        )
        for trial in trials
        if trial.kind == "recovery"
        for result in [trial.result]
    )


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """A published rate at one level, and its place among that level's rows."""

    __pydantic_config__ = SHAPE

    connections: int
    rate_per_s: Finite
    rank: int
    """1 is the fastest."""
    rows: int


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of a published comparison that the server stands for."""

    __pydantic_config__ = SHAPE

    comparison: str
    row: str
    setting: str
    """The server's setting that repeats the row most closely."""
    differs: tuple[str, ...]
    """What differs from the published server."""
    rates: tuple[PublishedRate, ...]


def published_rows(claims: Iterable[StoredClaim]) -> tuple[PublishedRow, ...]:
    """The rows whose figures are available here."""
    rows = (
        PublishedRow(
            comparison=claim.protocol,
            row=claim.row,
            setting=claim.setting or "default",
            differs=claim.differs,
            rates=_published_rates(claim.protocol, claim.row),
        )
        for claim in claims
    )
    return tuple(row for row in rows if row.rates)


@functools.cache
def _published_rates(comparison: str, row: str) -> tuple[PublishedRate, ...]:
    figures = _figures(comparison)
    if figures is None:
        return ()
    published = []
    for connections in figures.levels:
        rates = {
            figure.row: figure.rate_per_s
            for figure in figures.at(connections).values()
            if figure.rate_per_s is not None
        }
        if row in rates:
            rank = 1 + sum(rate > rates[row] for rate in rates.values())
            published.append(PublishedRate(connections, rates[row], rank, len(rates)))
    return tuple(published)


@functools.cache
def _figures(comparison: str) -> PublishedFigures | None:
    """None if the table is not available here. The name may be a foreign bundle's, so no path."""
    root = shipped_root()
    if root is None or comparison not in layered_names(root, "published", ".csv"):
        return None
    return read_figures(root / "published" / f"{comparison}.csv")


@dataclass(frozen=True, slots=True)
class HostLosses:
    """Of everything that used the host's network meanwhile; null where the kernel counts none."""

    __pydantic_config__ = SHAPE

    segments_resent: NonNegativeInt | None
    """TCP segments that the host's kernel sent again."""
    packets_dropped: NonNegativeInt | None
    """Packets that its interfaces dropped, received or to be sent."""


@dataclass(frozen=True, slots=True)
class LinkLosses:
    """Losses on both sides. The client's are of the load engine's own connections."""

    __pydantic_config__ = SHAPE

    server: HostLosses
    load: HostLosses
    client_segments_resent: NonNegativeInt | None
    client_segments_out_of_order: NonNegativeInt | None
    """Segments of the server that arrived before an earlier one."""

    @classmethod
    def of(cls, run: StoredRun) -> "LinkLosses | None":
        """Summed over all trials; None for a run on one machine."""
        if all(host.fingerprint.interface is None for host in run.hosts):
            return None
        results = [trial.result for trial in run.trials]
        increases = list(_increases(run.trials, results))
        return cls(
            server=_host_losses(increases, ""),
            load=_host_losses(increases, LOAD),
            client_segments_resent=_sum(result.retransmits for result in results),
            client_segments_out_of_order=_sum(result.out_of_order for result in results),
        )


def _increases(trials: Sequence[StoredTrial], results: Sequence[TrialResult]) -> Iterator[Counters]:
    """The counters of each trial; trials of slices in one block share theirs."""
    blocks: set[tuple[int, int]] = set()
    for trial, result in zip(trials, results, strict=True):
        if result.network is not None:
            yield result.network
        elif result.block_network is not None:
            place = (trial.heat, trial.block)
            if place not in blocks:
                blocks.add(place)
                yield result.block_network


def _host_losses(increases: Sequence[Counters], front: str) -> HostLosses:
    drops = (each.get(front + name) for each in increases for name in DROPS)
    resent = _sum(each.get(f"{front}RetransSegs") for each in increases)
    return HostLosses(resent, _sum(drops))


def _sum(values: Iterable[int | None]) -> int | None:
    counts = [value for value in values if value is not None]
    return sum(max(0, count) for count in counts) if counts else None


@dataclass(frozen=True, slots=True)
class Build:
    """How a server was built."""

    __pydantic_config__ = SHAPE

    key: str
    """Content hash of its folder, recipe and toolchains."""
    built_at: datetime.datetime
    elapsed_s: Finite
    toolchains: dict[str, str]
    files: dict[str, str]
    """Sources and lock files, with their SHA-256."""
    log: str


@dataclass(frozen=True, slots=True)
class RawOutput:
    """What the load generator printed in one trial: the one nearest the median rate."""

    __pydantic_config__ = SHAPE

    invocation: int
    block: int
    connections: int
    command: tuple[str, ...]
    stdout: str
    """As printed, without packed histograms and without what is too long; a note says what is
    left out."""
    stderr: str


def build_of(stored: StoredBuild) -> Build:
    """The build, with the end of its log."""
    return Build(
        key=stored.key,
        built_at=datetime.datetime.fromisoformat(stored.built_at),
        elapsed_s=stored.elapsed_s,
        toolchains=dict(stored.toolchains),
        files=dict(stored.files),
        log=_end(stored.log),
    )


def middle_trial(trials: Sequence[StoredTrial]) -> StoredTrial | None:
    """The trial with the median rate at the last level; a failed one if all of them failed."""
    if not trials:
        return None
    at_level = sorted(
        (trial for trial in trials if trial.connections == trials[-1].connections),
        key=lambda trial: (trial.rate_per_s is not None, trial.rate_per_s or 0.0),
    )
    measured = [trial for trial in at_level if trial.rate_per_s] or at_level
    return measured[len(measured) // 2]


def raw_output(trial: StoredTrial, output: TrialOutput) -> RawOutput:
    """The output of a trial, shortened."""
    return RawOutput(
        invocation=trial.invocation,
        block=trial.block,
        connections=trial.connections,
        command=trial.command,
        stdout=_shortened(output.stdout),
        stderr=_shortened(output.stderr),
    )


def _shortened(text: str) -> str:
    """The output, with a note in place of each part that is left out."""
    text = PACKED.sub(lambda match: f"({len(match[0]):,} characters)", text)
    if len(text) > OUTPUT_MAX:
        return f"{text[:OUTPUT_MAX]}\n({len(text) - OUTPUT_MAX:,} more characters in the store)"
    return text


def _end(log: str) -> str:
    """The end of a long log, where an error is shown."""
    if len(log) <= LOG_MAX:
        return log
    return f"({len(log) - LOG_MAX:,} characters before this in the store)\n{log[-LOG_MAX:]}"


def raw_text(raw: RawOutput) -> str:
    """One trial: where it was, its command, and what it printed."""
    lines = [
        f"# start {raw.invocation}, block {raw.block}, {raw.connections:,} connections: the trial "
        "nearest the median rate",
        f"$ {one_line(shlex.join(raw.command), 2_000)}",
        *(printable(text).rstrip() for text in (raw.stdout, raw.stderr) if text.strip()),
    ]
    return "\n".join(lines) + "\n"
