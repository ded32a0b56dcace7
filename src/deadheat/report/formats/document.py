"""The shape of `--format json`, version 4: `docs/schema-report.json` is made from it.

History: 1, the first. 2: scaling and capacities; a trial's heat, a reading's unit, lost runs.
3: what the page shows: the answer in a sentence, time to first byte, curves, series, builds,
commands, the tool's output, published rows. The page is made from this document alone.
4: what limited a rate.
"""

import datetime
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from deadheat.report.findings.limits import Limit
from deadheat.report.formats.document_part import Finite, Part
from deadheat.report.model.evidence import Build, RawOutput
from deadheat.report.model.published import PublishedRow
from deadheat.report.model.series import Series

SCHEMA: Literal["deadheat-report/4"] = "deadheat-report/4"


class Run(Part):
    """One execution of a protocol."""

    id: str
    state: Literal["running", "complete", "interrupted", "failed", "lost", "unended"]
    """`lost`: its process is gone, without a conclusion. `unended`: that process cannot be seen
    from the machine that made this report."""
    why: str | None
    """Why it ended: settled, budget spent, interrupted, or an error."""
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    elapsed_s: Finite | None
    """Start to end; of a run that has not ended, first start to last trial."""
    protocol: dict[str, Any]
    """As it was run: the file's values with the command line's in their place."""
    command: tuple[str, ...]
    seed: int
    deadheat_version: str
    generator_version: str
    blocks: int
    invocations: int
    trials: int


class Host(Part):
    """A machine in its role."""

    role: str
    cpus: tuple[int, ...]
    """The CPUs it was given."""
    fingerprint: dict[str, Any]


class Latency(Part):
    """A distribution of times, in microseconds. A quantile q is null below 100 / (1 - q)."""

    requests: int
    merged: bool
    """True: of all requests together. False: medians of what the generator printed of trials."""
    mean_us: Finite | None
    p50_us: Finite | None
    p75_us: Finite | None
    p90_us: Finite | None
    p99_us: Finite | None
    p99_9_us: Finite | None
    p99_99_us: Finite | None
    max_us: Finite | None
    curve: tuple[tuple[Finite, Finite], ...]
    """(q, microseconds): quantiles equally spaced in log10(1 - q), as far as requests support."""


class FailedGate(Part):
    """A check of a trial's validity that failed."""

    code: str
    reading: Finite | None
    threshold: Finite | None
    unit: Literal["share", "count", "us", "per_10k"] | None
    """Of both: a share of 1, a count, microseconds, or events per 10,000 requests."""
    advice: str


class Trial(Part):
    """One load run against one contender at one level."""

    invocation: int
    block: int
    at_s: Finite
    """When it began, since the run's start."""
    command: tuple[str, ...]
    heat: int
    """1, unless memory did not hold all contenders at once."""
    valid: bool
    """Only a valid trial ranks: it ended with a rate, and passed every gate."""
    state: Literal["ok", "failed"]
    reason: str | None
    rate_per_s: Finite | None
    requests_ok: int
    server_cpu_us_per_request: Finite | None
    memory_peak_bytes: int | None
    errors: dict[str, int]
    """Failed requests by class; they are in no rate."""
    gates_failed: tuple[FailedGate, ...]
    series: Series | None


class Cell(Part):
    """A contender at one connection level. Its figures are of its valid trials."""

    connections: int
    aggregate: Literal["median", "mean", "best"]
    rate_per_s: Finite | None
    """The aggregate of the trials' rates."""
    rate_per_s_min: Finite | None
    rate_per_s_max: Finite | None
    doubtful: bool
    """No trial was valid: the figures are of trials that failed a gate."""
    trials_valid: int
    service: Latency
    """Service time: from a request's sending to its last byte, in a closed loop."""
    first_byte: Latency
    """Time to first byte: from a request's sending; nothing where the generator tells none."""
    server_cpu_us_per_request: Finite | None
    server_cpus_used: Finite | None
    """How many CPUs the server kept busy."""
    limit: Limit | None
    """What limited the rate: the load generator, all CPUs that the server was given, those that its
    workers can use, or no CPU; null where the server's CPU time is not known."""
    memory_peak_bytes: int | None
    errors: dict[str, int]
    trials: tuple[Trial, ...]


class Offered(Part):
    """A contender under an offered rate (open loop)."""

    kind: str
    """`latency`, or `capacity` where a search for the highest rate asked."""
    connections: int
    offered_rate_per_s: Finite
    achieved_rate_per_s: Finite | None
    trials_valid: int
    response: Latency
    """Response time: from the intended send time."""
    first_byte: Latency
    """From the actual send time."""
    trials: tuple[Trial, ...]


class Start(Part):
    """One start of a contender."""

    invocation: int
    ready_s: Finite | None
    steady: dict[str, Any] | None
    """How its steady state was found."""
    behavior: dict[str, Any] | None
    """Its behaviour card, where it was asked at this start."""
    fault: str | None
    command: tuple[str, ...]
    ended: dict[str, Any] | None
    log_tail: str | None
    """The end of what the server itself printed."""


class Contender(Part):
    """A server at one setting."""

    name: str
    server: str
    setting: str
    label: str | None
    """As published, where it stands for a published row."""
    role: Literal["contender", "control"]
    """A canary shows what the machine and the client do; it does not rank."""
    language: str | None
    framework: str | None
    version: str | None
    kind: str | None
    workers: int
    threads: int
    fault: str | None
    """Why it could not take part."""
    homepage: str | None
    notes: tuple[str, ...]
    published: tuple[PublishedRow, ...]
    build: Build | None
    """None for what needs no build."""
    raw_output: RawOutput | None
    starts: tuple[Start, ...]
    levels: tuple[Cell, ...]
    offered: tuple[Offered, ...]


class Ratio(Part):
    """A ratio of two geometric mean rates; without bounds where there is no interval."""

    ratio: Finite
    low: Finite | None
    high: Finite | None


class Standing(Part):
    """A contender's place; without a rank, `reason` says why."""

    name: str
    rank_low: int | None
    """The best rank that the data allow; 1 is the fastest."""
    rank_high: int | None
    group: int | None
    """Contenders of one group are a dead heat; of different groups, separated."""
    ratio_to_leader: Ratio | None
    reason: str | None


class Pair(Part):
    """Two ranked contenders, the one that looks faster first."""

    faster: str
    slower: str
    neighbors: bool
    """Next to each other in the order."""
    verdict: Literal["separated", "equivalent", "undecided"]
    ratio: Ratio | None
    probability_faster: Finite | None
    extra_blocks: int | None
    """What an undecided pair would need, at its present difference and variance."""
    extra_invocations: int | None


class ScalingPoint(Part):
    """The server at one number of workers; its contender has all other figures."""

    name: str
    workers: int
    rate_per_s: Finite | None
    ratio_to_fewest: Ratio | None
    """To the rate with the fewest workers."""
    server_cpu_us_per_request: Finite | None


class Estimate(Part):
    """A fitted parameter, null where infinite; without both bounds there were too few blocks."""

    value: Finite | None
    low: Finite | None
    high: Finite | None


class ScalingFit(Part):
    """X(N) = rate_of_one N / (1 + contention (N - 1) + coherency N (N - 1)), Gunther's law."""

    rate_of_one_per_s: Estimate
    contention: Estimate
    coherency: Estimate
    peak_workers: Estimate
    """sqrt((1 - contention) / coherency); no value where the data show no peak.

    They show none beyond twice the most workers measured, nor beyond the most workers measured
    where the interval of the coherency holds 0 or is missing. An upper bound beyond that is null.
    """
    levels: int
    blocks: int
    confidence: Finite
    """Of each interval alone."""
    provisional: bool
    """Of fewer numbers of workers than are recommended."""


class Scaling(Part):
    """One server at several numbers of workers."""

    server: str
    setting: str
    cpus: int
    """What the server was given: points of more workers than this are no scaling curve."""
    points: tuple[ScalingPoint, ...]
    fit: ScalingFit | None
    """Over the points that have their CPUs, if there are three."""
    text: tuple[str, ...]


class Level(Part):
    """What is decided at one connection level."""

    connections: int
    answer: str
    """Which is fastest, in a sentence."""
    trust: str
    """How far that can be believed, in a sentence or two."""
    settled: bool
    """Every neighbouring pair is separated or equivalent."""
    confidence: Finite | None
    """Of all statements of this level jointly."""
    margin: Finite | None
    """Closer than this is equivalent: 0.03 is 3 %."""
    minimum_detectable_effect: Finite | None
    """The difference that this run finds four times in five."""
    method: str | None
    standings: tuple[Standing, ...]
    """From the fastest to the slowest, then what is not ranked."""
    pairs: tuple[Pair, ...]
    scaling: tuple[Scaling, ...]


class Capacity(Part):
    """The highest offered rate at which an objective held; 0 where no rate held."""

    name: str
    slo: str
    """The objective: a quantile of the response time and its limit, such as p99=10ms."""
    rate_per_s: Finite
    above_per_s: Finite | None
    """The lowest rate above it that did not hold."""
    rate_per_s_per_cpu: Finite | None
    """Over the CPUs that the server was given."""
    rate_per_s_per_100_mib: Finite | None
    """Over the peak of its memory during the search."""
    server_cpu_us_per_request: Finite | None
    """At the rate that held."""
    memory_peak_bytes: int | None
    disturbed: bool
    """Every trial at `above_per_s` was, and not by the server: it may hold more."""
    trials: int
    trouble: str | None


class Caution(Part):
    """What to know before believing a figure."""

    code: str
    contenders: tuple[str, ...]
    text: str
    advice: str | None


class Statement(Part):
    """A conclusion in words, about the last level asked for."""

    topic: str
    text: str


class Calibration(Part):
    """What `deadheat calibrate` last found on a machine like the server's."""

    at: datetime.datetime
    result: dict[str, Any]


class Document(Part):
    """A report of one run, as `deadheat report --format json` writes it."""

    schema_: Annotated[Literal["deadheat-report/4"], Field(alias="schema")] = SCHEMA
    run: Run
    hosts: tuple[Host, ...]
    contenders: tuple[Contender, ...]
    levels: tuple[Level, ...]
    capacities: tuple[Capacity, ...]
    cautions: tuple[Caution, ...]
    conclusions: tuple[Statement, ...]
    heading: tuple[str, ...]
    """What was run, where and how, a line each."""
    calibration: Calibration | None


def schema() -> str:
    """The JSON Schema of the document, as `docs/schema-report.json` holds it."""
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    described |= Document.model_json_schema(by_alias=True, mode="serialization")
    return json.dumps(described, indent=2) + "\n"
