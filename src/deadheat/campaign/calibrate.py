"""Calibration: a race of identical and slowed servers, whose true ratios are known.

Copies of one server (A/A) show how many false differences a race finds. Copies with a known amount
of extra work for each request show which slowdown it detects.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deadheat.campaign.entry import enter_made
from deadheat.campaign.failures import none_left, require_valid
from deadheat.campaign.race import Race
from deadheat.campaign.resolve import resolve
from deadheat.campaign.run import RaceContext, open_run
from deadheat.errors import DeadheatError
from deadheat.events import Listener, Progress
from deadheat.host import ProcessSpec
from deadheat.load import LoadResult
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, Instance, controls
from deadheat.measure.trial import load_spec
from deadheat.measure.world import World
from deadheat.protocol import SliceProtocol
from deadheat.stats.distributions import NORMAL
from deadheat.stats.ranking.pairs import PairFits, detectable_ratio
from deadheat.store import Store

FEWEST_PAIRS = 200


@dataclass(frozen=True)
class FalseAlarms:
    """False differences among null pairs, each pair tested alone at a nominal rate.

    `allowed` is the highest rate that binomial chance explains at 95 %.
    """

    null_pairs: int
    false_differences: int
    allowed: float

    @property
    def false_difference_rate(self) -> float:
        return self.false_differences / self.null_pairs

    @property
    def passed(self) -> bool:
        """There are enough pairs, and no more false differences than chance explains."""
        return self.null_pairs >= FEWEST_PAIRS and self.false_difference_rate <= self.allowed


def false_alarms(runs: Iterable[PairFits], nominal: float = 0.05) -> FalseAlarms:
    """Count false differences over `runs` in which all contenders are the same server.

    Every pair of a run counts, and is tested alone at `nominal`. Pairs of one run share
    contenders, so several runs of few contenders say more than one run of many.
    Raises ValueError without a single pair.
    """
    pairs = differences = 0
    for fits in runs:
        upper = np.triu_indices(fits.contenders, k=1)
        log_ratio, half_width = fits.log_ratio[upper], fits.half_width(nominal)[upper]
        pairs += int(np.isfinite(half_width).sum())
        differences += int((np.abs(log_ratio) > half_width).sum())
    if pairs == 0:
        raise ValueError("no pair of copies was measured: expected at least one")
    return FalseAlarms(pairs, differences, allowed_rate(nominal, pairs))


def allowed_rate(nominal: float, pairs: int) -> float:
    """nominal + z[0.95] sqrt(nominal (1 - nominal) / pairs): 0.075 for 0.05 and 200 pairs."""
    return nominal + NORMAL.inv_cdf(0.95) * math.sqrt(nominal * (1 - nominal) / pairs)


SLOWDOWNS = (0.02, 0.03, 0.05, 0.10)
PROBE_UNITS = 50_000
PROBE_S = 0.5
COPY_COST_FACTOR = 4.0  # CPU time per request, copy over null server
NOMINAL = 0.05


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A known slowdown, and in how many races it was found. Ratios are copy over slowed copy."""

    injected: float
    measured: float  # geometric mean over the races
    found: int
    races: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of `deadheat calibrate`, which later reports of such a host quote.

    A false difference is one of two copies, each pair tested alone. `false_races` counts races in
    which the intervals of all pairs together separate any two copies, as a report would.
    """

    false_difference_rate: float
    false_differences: int
    null_pairs: int
    allowed: float  # the highest false difference rate that chance explains
    false_races: int
    passed: bool
    minimum_detectable_effect: float  # of one pair at the nominal rate, with 80 % power
    slowdowns: tuple[Slowdown, ...]
    nominal: float
    elapsed_s: float
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """Units of work for each request to a copy, and their CPU time."""

    units: int
    us_per_unit: float
    us_per_request: float

    def slower(self, share: float) -> int:
        """The units with which a request takes `share` more CPU time."""
        return self.units + round(share * self.us_per_request / self.us_per_unit)


def calibrate(
    world: World,
    store: Store,
    protocol: SliceProtocol,
    copies: int,
    races: int,
    seed: int,
    listen: Listener,
) -> Calibration:
    """Race copies and slowed copies `races` times; each race is a separate run.

    Raises `DeadheatError` if the work does not increase the null server's CPU time.
    """
    begun_s = world.server_host.now_s()
    work = find_work(world, protocol)
    contenders = _contenders(world, work, copies)
    fits: dict[str, PairFits] = {}
    for number in range(races):
        listen(Progress(f"race {number + 1} of {races}"))
        fits |= _race(world, store, protocol, contenders, seed + number, listen)
    return conclude(fits, copies, world.server_host.now_s() - begun_s)


def contender_names(copies: int) -> list[str]:
    """The copies, then the slowed copies in the order of `SLOWDOWNS`."""
    return [f"copy-{i + 1:02}" for i in range(copies)] + [f"slower-{s:.0%}" for s in SLOWDOWNS]


def conclude(runs: Mapping[str, PairFits], copies: int, elapsed_s: float) -> Calibration:
    """What races say: run -> its pairs, contenders in the order of `contender_names`."""
    fits = list(runs.values())
    among = [fit.of(np.arange(copies)) for fit in fits]
    alarms = false_alarms(among, NOMINAL)
    effects = np.concatenate(
        [detectable_ratio(fit, NOMINAL)[np.triu_indices(copies, k=1)] for fit in among]
    )
    return Calibration(
        false_difference_rate=alarms.false_difference_rate,
        false_differences=alarms.false_differences,
        null_pairs=alarms.null_pairs,
        allowed=alarms.allowed,
        false_races=sum(_separates(fit) for fit in among),
        passed=alarms.passed,
        minimum_detectable_effect=float(np.nanmedian(effects)),
        slowdowns=tuple(_slowdown(fits, copies, k) for k in range(len(SLOWDOWNS))),
        nominal=NOMINAL,
        elapsed_s=elapsed_s,
        runs=tuple(runs),
    )


def _separates(copies: PairFits) -> bool:
    """Whether the intervals of all pairs, jointly at the nominal error, leave out 1 for any."""
    upper = np.triu_indices(copies.contenders, k=1)
    half_width = copies.half_width(NOMINAL / len(upper[0]))[upper]
    return bool((np.abs(copies.log_ratio[upper]) > half_width).any())


def find_work(world: World, protocol: SliceProtocol) -> Work:
    """The work with which a copy costs `COPY_COST_FACTOR` null servers, measured on this host."""
    bare_us = _cpu_us_per_request(world, protocol, 0)
    loaded_us = _cpu_us_per_request(world, protocol, PROBE_UNITS)
    us_per_unit = (loaded_us - bare_us) / PROBE_UNITS
    if us_per_unit <= 0:
        raise DeadheatError(
            f"{PROBE_UNITS} units of work did not increase the null server's CPU time",
            "the machine is too busy to calibrate: `deadheat doctor` shows why",
        )
    units = round((COPY_COST_FACTOR - 1) * bare_us / us_per_unit)
    return Work(units, us_per_unit, COPY_COST_FACTOR * bare_us)


def _cpu_us_per_request(world: World, protocol: SliceProtocol, units: int) -> float:
    contender = _null_server(world, f"probe-{units}", units)
    instance = lifecycle.start(world, contender)
    try:
        spec = load_spec(protocol, instance, max(protocol.connections))
        spec = replace(spec, duration_s=max(spec.duration_s, PROBE_S))
        before_s = world.server_host.cpu_s(instance.process)
        command = world.load.engine.command(spec)
        try:
            completed = world.load.host.run(
                ProcessSpec(command, cpus=world.load.cpus), spec.limit_s
            )
            result = world.load.engine.parse(spec, completed, world.engine_version)
        except DeadheatError:
            _require_alive(world, instance)
            raise
        _require_alive(world, instance)
        _require_answers(result)
        used_s = world.server_host.cpu_s(instance.process) - before_s
    finally:
        lifecycle.stop(world, instance)
    return used_s * 1e6 / max(result.requests_sent_in_all or 0, 1)


def _require_alive(world: World, instance: Instance) -> None:
    """Raises `DeadheatError` with how the null server ended, if it did."""
    ended = lifecycle.ended(world, instance)
    if ended is None:
        return
    if ended.limit is not None:
        option = ended.limit.partition(":")[0].replace("_", "-")
        raise DeadheatError(f"the null server was ended: {ended.limit}", f"raise --{option}")
    raise DeadheatError(
        f"the null server died while it was loaded ({ended.how})",
        "run the command again; `deadheat doctor` checks this machine",
    )


def _require_answers(result: LoadResult) -> None:
    """Raises `DeadheatError` if a request failed: the CPU time of others would be unknown."""
    if result.requests_ok and not result.errors_total:
        return
    failed = result.errors_text or "no request was answered"
    raise DeadheatError(
        f"the null server did not answer every request of the probe: {failed}",
        "run the command again; `deadheat doctor` checks this machine",
    )


def _contenders(world: World, work: Work, copies: int) -> list[Contender]:
    units = [work.units] * copies + [work.slower(share) for share in SLOWDOWNS]
    names = contender_names(copies)
    return [_null_server(world, name, work) for name, work in zip(names, units, strict=True)]


def _null_server(world: World, name: str, units: int) -> Contender:
    command = tuple(world.server_engine.null_server("{port}", units, "{host}"))
    return Contender(name=name, role="contender", command=command, ready_s=5, stop_s=3)


def _race(
    world: World,
    store: Store,
    protocol: SliceProtocol,
    contenders: Sequence[Contender],
    seed: int,
    listen: Listener,
) -> dict[str, PairFits]:
    """One race, as run -> its pairs; contenders in the order given."""
    protocol = resolve(protocol, world, len(contenders)).protocol
    with open_run(store, world, protocol, ["deadheat", "calibrate"], seed) as run:
        entered_contenders = enter_made(
            [*contenders, *controls(world.server_engine)], store, run.id
        )
        race = Race(RaceContext(world, protocol, store, run.id, entered_contenders, seed, listen))
        look = race.run()
        tally = race.standings.tally
        if tally.out:  # pairs are of fixed contenders, so each has to take part
            raise none_left(tally.out, "`deadheat doctor` checks this machine")
        require_valid(tally)
        run.conclude(why="all repetitions done", share=look.share)
    return {run.id: race.standings.fits(protocol.main_level)}


def _slowdown(fits: Sequence[PairFits], copies: int, k: int) -> Slowdown:
    """The first copy and a slowed copy: one fixed pair in each race."""
    ratios = [float(fit.log_ratio[0, copies + k]) for fit in fits]
    widths = [float(fit.half_width(NOMINAL)[0, copies + k]) for fit in fits]
    return Slowdown(
        injected=SLOWDOWNS[k],
        measured=float(np.expm1(np.nanmean(ratios))),
        found=sum(ratio > width for ratio, width in zip(ratios, widths, strict=True)),
        races=len(fits),
    )
