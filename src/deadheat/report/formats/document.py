"""The shape of `--format json`, version 6: `docs/schema-report.json` is made from it."""

import datetime
import json
import math
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from deadheat.report.findings.explanation import Gap, Sign
from deadheat.report.findings.footprint import Footprint
from deadheat.report.findings.pauses import Pauses
from deadheat.report.findings.precision import Limit
from deadheat.report.findings.profile import Prediction, ProfileRow
from deadheat.report.findings.transports import Handshakes, TransportCost
from deadheat.report.model import evidence
from deadheat.report.model.series import SHAPE, Finite, Series
from deadheat.store.json_columns import AsStored, Explained, PerRequest
from deadheat.store.slices import StoredSlice
from deadheat.strict import JsonObject

SCHEMA: Literal["deadheat-report/6"] = "deadheat-report/6"


def known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


Known = Annotated[Finite | None, BeforeValidator(known)]
"""Null if it is not a number, or infinite."""


class Part(BaseModel):
    """Rejects unknown keys and infinite numbers; may be made from a value with these attributes."""

    model_config = SHAPE | ConfigDict(
        frozen=True, from_attributes=True, revalidate_instances="never"
    )


class RunPart(Part):
    """One execution of a protocol."""

    id: str
    state: Literal["running", "complete", "interrupted", "failed", "lost", "unended"]
    """`lost`: its process is gone. `unended`: the machine of the report cannot see its process."""
    why: str | None
    """Why it ended: settled, budget spent, interrupted, or an error."""
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    elapsed_s: Finite | None
    """Start to end; to the last trial for a run that has not ended."""
    race_s: Finite | None
    """The race alone, without builds: what the budget bounds. `elapsed_s` if it was cut short."""
    protocol: JsonObject
    """The protocol of this run: the file's values, overridden by the command line."""
    command: tuple[str, ...]
    seed: int
    deadheat_version: str
    generator_version: str
    blocks: int
    invocations: int
    trials: int
    workloads: tuple[str, ...]
    """In the order of the command line; what is said of one of them names it."""
    reasonable_s: Finite
    """Reports suggest no longer race to decide a pair: an hour, or as long as this one took."""
    measured_share: Finite | None
    """The share of the race's time, starts included, in which a server was measured."""
    series_trials_max: int | None
    """At most this many trials of a contender at a level have `series` and `slices`, evenly over
    the race. Null: all trials. The figures are of all trials."""


class HostPart(Part):
    """A machine in its role."""

    role: str
    cpus: tuple[int, ...]
    """The CPUs it was given."""
    fingerprint: JsonObject


class LatencyPart(Part):
    """A distribution of times, in microseconds. A quantile q is null below 100 / (1 - q)."""

    requests: int
    merged: bool
    """True: over all requests together. False: medians over trials of the generator's figures."""
    mean_us: Finite | None
    p50_us: Finite | None
    p75_us: Finite | None
    p90_us: Finite | None
    p99_us: Finite | None
    p99_9_us: Finite | None
    p99_99_us: Finite | None
    max_us: Finite | None
    curve: tuple[tuple[Finite, Finite], ...]
    """(q, microseconds): quantiles equally spaced in log10(1 - q), up to the last that enough
    requests support."""


class FailedGate(Part):
    """A check of a trial's validity that failed."""

    code: str
    reading: Finite | None
    threshold: Finite | None
    unit: Literal["share", "count", "us", "per_10k"] | None
    """Unit of both: a share of 1, a count, microseconds, or events per 10,000 requests."""
    advice: str


class TrialPart(Part):
    """One load run against one contender at one level."""

    invocation: int
    block: int
    at_s: Finite
    """Start of the trial, since the run's start."""
    command: tuple[str, ...]
    heat: int
    """1, unless not all contenders fit into memory together."""
    valid: bool
    """Only a valid trial ranks: it ended with a rate, and passed every gate."""
    state: Literal["ok", "failed"]
    reason: str | None
    rate_per_s: Finite | None
    requests_ok: int
    server_cpu_us_per_request: Finite | None
    database_cpu_us_per_request: Finite | None
    """CPU time of the workload's database, beside the server's; null without one."""
    per_request: PerRequest | None
    """The parts of the CPU time, context switches, packets and bytes; null in older runs."""
    memory_peak_bytes: int | None
    errors: dict[str, int]
    """Failed requests by class; rates do not include them."""
    gates_failed: tuple[FailedGate, ...]
    elapsed_s: Finite | None
    """The time measured; of a trial of slices, that of all slices."""
    slices: tuple[StoredSlice, ...]
    """The slices that the trial is the sum of; empty where it is one load, and where the document
    leaves them out (`series_trials_max`). `at_s` counts from the run's start."""
    series: Series | None
    """Null if nothing was recorded, or if the document leaves it out (`series_trials_max`)."""


class CellPart(Part):
    """A contender at one level. The figures are those of its valid trials."""

    workload: str
    connections: int
    aggregate: Literal["median", "mean", "best"]
    rate_per_s: Finite | None
    """The aggregate of the trials' rates."""
    rate_per_s_min: Finite | None
    rate_per_s_max: Finite | None
    doubtful: bool
    """No trial was valid: the figures are those of trials that failed a gate."""
    trials_valid: int
    service: LatencyPart
    """Service time: from sending a request to the last byte of its answer, in a closed loop."""
    first_byte: LatencyPart
    """Time to first byte: from sending a request; empty if the generator does not report it."""
    server_cpu_us_per_request: Finite | None
    server_cpus_used: Finite | None
    """Number of CPUs that the server kept busy."""
    database_cpu_us_per_request: Finite | None
    """CPU time of the workload's database, beside the server's; null without one."""
    per_request: PerRequest | None
    """The parts of the CPU time, context switches, packets and bytes; null in older runs."""
    limit: Limit | None
    """What limited the rate: the load generator, all CPUs that the server was given, those that its
    workers can use, or no CPU; null if the server's CPU time is unknown."""
    memory_peak_bytes: int | None
    errors: dict[str, int]
    trials: tuple[TrialPart, ...]


class Offered(Part):
    """A contender under an offered rate (open loop)."""

    kind: str
    """`latency`, or `capacity` for a trial of a capacity search."""
    workload: str
    connections: int
    offered_rate_per_s: Finite
    achieved_rate_per_s: Finite | None
    trials_valid: int
    response: LatencyPart
    """Response time: from the moment a request was due."""
    first_byte: LatencyPart
    """Time to first byte: from sending a request."""
    trials: tuple[TrialPart, ...]


class Start(Part):
    """One start of a contender."""

    invocation: int
    ready_s: Finite | None
    steady: AsStored | None
    """How the steady state was detected."""
    behavior: AsStored | None
    """How the server behaves, if it was probed at this start."""
    fault: str | None
    command: tuple[str, ...]
    ended: AsStored | None
    log_tail: str | None
    """The end of the server's own output."""


class ContenderPart(Part):
    """A server at one setting."""

    name: str
    server: str
    setting: str
    label: str | None
    """The name of the published row that it repeats."""
    role: Literal["contender", "control"]
    """A control shows what the machine and the client do; it does not rank."""
    language: str | None
    framework: str | None
    version: str | None
    kind: str | None
    workers: int
    threads: int
    fault: str | None
    """Why it could not run."""
    homepage: str | None
    notes: tuple[str, ...]
    published: tuple[evidence.PublishedRow, ...]
    build: evidence.Build | None
    """Null if it needs no build."""
    raw_output: evidence.RawOutput | None
    starts: tuple[Start, ...]
    levels: tuple[CellPart, ...]
    offered: tuple[Offered, ...]
    recoveries: tuple[evidence.RecoveryRecord, ...]
    """After each trial, in a decay study only."""
    footprint: Footprint | None
    """What it takes up; null if it never started."""


class Ratio(Part):
    """A ratio of two geometric mean rates; the bounds are null if there is no interval."""

    ratio: Finite
    low: Finite | None
    high: Finite | None


class StandingPart(Part):
    """A contender's rank, or the reason why it has none."""

    name: str
    rank_low: int | None
    """The best rank that the data allow; 1 is the fastest."""
    rank_high: int | None
    group: int | None
    """Contenders of one group are a dead heat; contenders of different groups are separated."""
    ratio_to_leader: Ratio | None
    reason: str | None
    pauses: Pauses | None
    """Null if it does not pause, or if the run did not store it."""


class PairPart(Part):
    """Two ranked contenders; `faster` has the higher estimated rate."""

    faster: str
    slower: str
    neighbors: bool
    """Whether they are next to each other in the order."""
    verdict: Literal["separated", "equivalent", "undecided"]
    ratio: Ratio | None
    probability_faster: Known
    extra_blocks: int | None
    """Blocks that an undecided pair needs at its present difference and variance."""
    extra_invocations: int | None
    decided_after_s: Finite | None
    """About the time in which a race of these two alone decides an undecided pair."""
    least_difference: Finite | None
    """The smallest that such a race separates in the run's `reasonable_s`; 0.004 is 0.4 %."""


class ScalingPoint(Part):
    """The server at one worker count; its contender has all other figures."""

    name: str
    workers: int
    rate_per_s: Finite | None
    ratio_to_fewest: Ratio | None
    """Ratio to the rate with the fewest workers."""
    server_cpu_us_per_request: Finite | None


class Scaling(Part):
    """One server at several worker counts."""

    server: str
    setting: str
    cpus: int
    """CPUs of the server. Points with more workers are not part of the scaling curve."""
    points: tuple[ScalingPoint, ...]
    text: tuple[str, ...]


class Open(Part):
    """What a level leaves open, and what to type next."""

    text: str
    """A pair, such as `a ~ b`, or what is missing."""
    figures: str
    command: str


class LevelPart(Part):
    """The results at one level: a workload and a number of connections."""

    workload: str
    connections: int
    answer: str
    """Which contender is fastest, in one sentence."""
    trust: str
    """How certain that is, in a few sentences."""
    settled: bool
    """Whether every neighboring pair is separated or equivalent."""
    confidence: Finite | None
    """Joint confidence of all statements about this level."""
    margin: Finite | None
    """Equivalence margin: 0.03 is 3 %."""
    minimum_detectable_effect: Known
    """The difference that a run like this detects with 80 % power."""
    method: str | None
    standings: tuple[StandingPart, ...]
    """From the fastest to the slowest, then those not ranked."""
    pairs: tuple[PairPart, ...]
    open: tuple[Open, ...]
    """The first undecided neighboring pairs, then the others together; empty if all are decided."""
    scaling: tuple[Scaling, ...]


class RateStandingPart(Part):
    """A contender at a common offered rate."""

    name: str
    rank_low: int | None
    rank_high: int | None
    value_us: Finite | None
    """CPU time per request, or the p99 of the response time."""
    times_least: Ratio | None
    """How many times as much as the least of all."""
    reached_per_s: Finite
    cores: Finite | None
    """CPUs that the server kept busy at this rate."""
    price_per_million: Finite | None
    """Of a million requests, at the protocol's `price_per_core_hour`."""
    p50_us: Finite | None
    p99_9_us: Finite | None
    trials: int
    trials_valid: int
    reason: str | None
    """Why it has no rank here."""


class RateOrder(Part):
    """All contenders at a common offered rate, by one measure, from the least to the most."""

    workload: str
    connections: int
    offered_rate_per_s: Finite
    measure: Literal["cost", "wait"]
    """`cost`: CPU time per request. `wait`: the p99 of the response time."""
    standings: tuple[RateStandingPart, ...]


class CapacityPart(Part):
    """The highest offered rate at which an objective held; 0 where no rate held."""

    name: str
    slo: str
    """A quantile of the response time and its limit, such as p99=10ms."""
    rate_per_s: Finite
    above_per_s: Finite | None
    """The lowest rate that did not hold."""
    rate_per_s_per_cpu: Finite | None
    """`rate_per_s` over the CPUs that the server was given."""
    rate_per_s_per_100_mib: Finite | None
    """`rate_per_s` over the server's peak memory during the search, in 100 MiB."""
    server_cpu_us_per_request: Finite | None
    """CPU time at the rate that held."""
    memory_peak_bytes: int | None
    disturbed: bool
    """Something other than the server failed a gate in every trial at `above_per_s`: the server may
    hold more."""
    trials: int
    trouble: str | None


class CalibrationPart(Part):
    """The last result of `deadheat calibrate` on a machine like the server's."""

    at: datetime.datetime
    result: AsStored


class ProfilePart(Part):
    """Every server at the main level of each workload."""

    rows: tuple[ProfileRow, ...]
    predictions: tuple[Prediction, ...]
    transports: tuple[TransportCost, ...]
    """What a transport costs; empty for a run over one."""


class CautionPart(Part):
    """What to know before believing the figures."""

    code: str
    contenders: tuple[str, ...]
    text: str
    advice: str | None
    workload: str | None
    """The workload that it is about; null if it is about all of them."""


class StatementPart(Part):
    """A conclusion in words, about the workload's main level unless it names another."""

    topic: str
    text: str
    workload: str


class ExplainedPart(Part):
    """What one contender does for a request."""

    name: str
    user_us: Finite | None
    """CPU time of a request in its own code, the mean over instances, as the gaps compare it."""
    system_us: Finite | None
    per_request: PerRequest | None
    """Medians over the valid trials of the race."""
    counted: Explained
    calls: dict[str, Finite | None]
    """System calls per request by kind; null if strace did not count them."""
    functions: str | None
    """Those on top of most stacks that perf sampled."""


class ExplanationPart(Part):
    """What `deadheat explain` found, those with the least CPU time first."""

    gaps: tuple[Gap, ...]
    servers: tuple[ExplainedPart, ...]
    signs: tuple[Sign, ...]
    details: tuple[str, ...]
    left_out: tuple[str, ...]


class Document(Part):
    """A report of one run, as `deadheat report --format json` writes it."""

    schema_: Annotated[Literal["deadheat-report/6"], Field(alias="schema")] = SCHEMA
    run: RunPart
    hosts: tuple[HostPart, ...]
    contenders: tuple[ContenderPart, ...]
    levels: tuple[LevelPart, ...]
    rates: tuple[RateOrder, ...]
    """Of a race at common offered rates: from the lowest rate, by cost and then by wait."""
    capacities: tuple[CapacityPart, ...]
    cautions: tuple[CautionPart, ...]
    conclusions: tuple[StatementPart, ...]
    measured: str
    """What was measured, in one line: servers, connections, CPUs, time and confidence."""
    heading: tuple[str, ...]
    """What was run, where and how, in lines."""
    method: tuple[str, ...]
    """How it was measured and what its ranks mean, in sentences."""
    calibration: CalibrationPart | None
    profile: ProfilePart | None
    """The servers over the workloads; null for a run of one."""
    defects: tuple[evidence.Defect, ...] | None
    """What the audit of a replay found; null without a replay or its published figures here."""
    handshakes: tuple[Handshakes, ...]
    explanation: ExplanationPart | None
    """Of `deadheat explain`; null in other runs."""
    link_losses: evidence.LinkLosses | None
    """What was lost on the link between two hosts; null for a run on one machine."""


def schema() -> str:
    """The JSON Schema of the document, as stored in `docs/schema-report.json`."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    shape = Document.model_json_schema(by_alias=True, mode="serialization")
    return json.dumps(draft | shape, indent=2) + "\n"
