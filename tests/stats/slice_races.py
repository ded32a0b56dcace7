"""Simulated races in slices: log rates whose truth is known.

The structure is that of the races measured in the slices study: most of a slice's variance lies
between slices, the machine's state changes within seconds and sinks for a few slices at a time,
instances of one server differ by 1 to 5 %, and some servers pause by themselves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.model.slices import SliceArrays

SLICE_PERIOD_S = 0.075  # 60 ms and what is lost beside it


@dataclass(frozen=True)
class Machine:
    """What the machine does to every contender; standard deviations of log rates.

    `state_sd` and `state_s` are the size and the time constant of its stationary state; `drift_sd`
    is the size of a random walk over the race. A disturbance begins `disturbances_per_s` times a
    second, lasts `disturbance_s` on average, and costs up to `disturbance_depth`; contenders feel
    it with a `sensitivity_sd` around 1. `spikes` is the share of slices that are hit alone.

    At another speed, which begins `changes_per_s` times a second and lasts `change_s` on average,
    contenders gain from nothing to `change_gain`, each always the same.
    """

    state_sd: float = 0.04
    state_s: float = 2.0
    drift_sd: float = 0.05
    disturbances_per_s: float = 0.15
    disturbance_s: float = 0.35
    disturbance_depth: float = 0.6
    sensitivity_sd: float = 0.15
    spikes: float = 0.01
    changes_per_s: float = 0.0
    change_s: float = 5.0
    change_gain: float = 0.2

    def at_other_speed(self, generator: np.random.Generator, time_s: Floats) -> Floats:
        """1 at times at which the machine runs at another speed, else 0."""
        other = np.zeros(len(time_s))
        count = generator.poisson(self.changes_per_s * time_s[-1]) if self.changes_per_s else 0
        for begin in generator.uniform(0, time_s[-1], count):
            other[(time_s >= begin) & (time_s < begin + generator.exponential(self.change_s))] = 1
        return other

    def gains(self, count: int) -> Floats:
        """What each contender gains at the other speed."""
        return self.change_gain * np.linspace(0, 1, count)

    def state(self, generator: np.random.Generator, time_s: Floats) -> tuple[Floats, Floats]:
        """The machine's smooth state at increasing times, and the depth of disturbance."""
        gaps = np.diff(time_s, prepend=time_s[0])
        shocks = generator.standard_normal(len(time_s))
        smooth = np.empty(len(time_s))
        level = shocks[0]
        keep = np.exp(-gaps / self.state_s)
        fresh = np.sqrt(1 - keep**2)
        for i in range(len(time_s)):
            level = keep[i] * level + fresh[i] * shocks[i] if i else level
            smooth[i] = level
        steps = generator.standard_normal(len(time_s)) * np.sqrt(gaps / max(time_s[-1], 1e-9))
        depth = np.zeros(len(time_s))
        count = generator.poisson(self.disturbances_per_s * time_s[-1])
        begins = generator.uniform(0, time_s[-1], count)
        lasts = generator.exponential(self.disturbance_s, count)
        deep = generator.uniform(0.1, self.disturbance_depth, count)
        for begin, last, cost in zip(begins, lasts, deep, strict=True):
            overlap = np.minimum(time_s + SLICE_PERIOD_S, begin + last) - np.maximum(time_s, begin)
            depth += np.clip(overlap / SLICE_PERIOD_S, 0, 1) * cost
        return self.state_sd * smooth + self.drift_sd * np.cumsum(steps), np.minimum(depth, 0.9)


QUIET = Machine(state_sd=0.015, drift_sd=0.03, disturbances_per_s=0.02, disturbance_depth=0.3)
NOISY = Machine()
DRIFTING = Machine(drift_sd=0.5)
TWO_SPEEDS = Machine(state_sd=0.01, drift_sd=0.02, changes_per_s=0.04)  # a sixth of the time

BURSTS = Machine(
    disturbances_per_s=0.4, disturbance_s=0.5, disturbance_depth=0.5, sensitivity_sd=0.05
)  # a fifth of the time

STEADY, PAUSES, TWO_MODES = 0, 1, 2


@dataclass(frozen=True)
class Field:
    """The contenders: one value for each in every sequence.

    `slice_sd` is the noise of one slice, half of its variance correlated (0.6 from one slice of a
    contender to its next); `pauses` says who pauses by itself: PAUSES loses 40 % of one slice in
    twelve, TWO_MODES flips between two rates 25 % apart about every six slices.

    `own_sd` and `own_s` are the size and the correlation time of each contender's own slow noise
    (an Ornstein-Uhlenbeck process), which all instances of the contender share.
    """

    log_rates: Sequence[float]
    instance_sd: Sequence[float]
    slice_sd: Sequence[float]
    pauses: Sequence[int]
    own_sd: Sequence[float] | float = 0.0
    own_s: float = 60.0

    @classmethod
    def mixed(cls, log_rates: Sequence[float], start_unstable: bool = False) -> "Field":
        """Contenders of several kinds: instance sd 1 to 5 %, slice sd 2 to 6 %, two that pause.

        With `start_unstable` all instances differ by 1 %, but those of contender 0 by 8 %.
        """
        count = len(log_rates)
        places = np.arange(count)
        instance_sd = 0.01 + 0.04 * (places * 5 % 8) / 7
        if start_unstable:
            instance_sd = np.where(places == 0, 0.08, 0.01)
        pauses = np.where(places == 3, PAUSES, np.where(places == 5, TWO_MODES, STEADY))
        slice_sd = 0.02 + 0.04 * (places * 3 % 5) / 4
        return cls(log_rates, instance_sd.tolist(), slice_sd.tolist(), pauses.tolist())

    @classmethod
    def copies(cls, count: int, instance_sd: float = 0.02, pauses: int = STEADY) -> "Field":
        """Copies of one server."""
        return cls([0.0] * count, [instance_sd] * count, [0.03] * count, [pauses] * count)

    @property
    def true_log_rates(self) -> Floats:
        """The logs of rates by mean cycle times, with what pauses cost."""
        cost = {
            STEADY: 0.0,
            PAUSES: -np.log1p((1 / 0.6 - 1) / 12),
            TWO_MODES: -np.log1p((1 / 0.75 - 1) / 2),
        }
        return np.add(self.log_rates, [cost[kind] for kind in self.pauses], dtype=np.float64)

    @property
    def true_mean_log_rates(self) -> Floats:
        """The logs of the arithmetic mean rates, with what pauses cost."""
        cost = {STEADY: 0.0, PAUSES: np.log(1 - 0.4 / 12), TWO_MODES: np.log(1 - 0.25 / 2)}
        return np.add(self.log_rates, [cost[kind] for kind in self.pauses], dtype=np.float64)


@dataclass(frozen=True)
class Schedule:
    """Who runs when. `instances` and `last_round` are per contender (all alike if a number).

    Instances are replaced at different times, unless `lockstep`; with `turns`, those of a contender
    take turns, one in each block. A block has `rounds_per_block`.

    With several `levels`, such as transports, each has an equal part of the contenders. A block
    measures one level after the other, in random order, and its rounds have the same numbers.
    """

    rounds: int
    instances: int | Sequence[int] = 4
    last_round: Sequence[int] | None = None
    rounds_per_block: int = 8
    lockstep: bool = False
    turns: bool = False
    levels: int = 1

    def draw(self, generator: np.random.Generator, count: int) -> SliceArrays:
        """Slices in time order, their log rates all zero."""
        instances = np.broadcast_to(np.asarray(self.instances), (count,))
        last = np.full(count, self.rounds) if self.last_round is None else self.last_round
        last = np.minimum(np.asarray(last), self.rounds)
        rows, numbers = [], []
        first_instance = np.concatenate(([0], np.cumsum(instances)[:-1]))
        offsets = np.zeros(count) if self.lockstep else generator.uniform(-0.4, 0.4, count)
        for k, level in self._rounds(generator, count):
            running = generator.permutation(level[last[level] > k])
            share = (k + 0.5) / last[running] * instances[running]
            shifted = np.floor(share + offsets[running]).astype(int)
            if self.turns:
                shifted = k // self.rounds_per_block % instances[running]
            rows.append(
                (running, first_instance[running] + np.clip(shifted, 0, instances[running] - 1))
            )
            numbers.append(k)
        rounds = np.repeat(numbers, [len(running) for running, _ in rows])
        contender = np.concatenate([running for running, _ in rows])
        return SliceArrays(
            log_rate=np.zeros(len(contender)),
            contender=contender,
            instance=np.concatenate([instance for _, instance in rows]),
            block=rounds // self.rounds_per_block,
            round=rounds,
            time_s=np.arange(len(contender), dtype=np.float64) * SLICE_PERIOD_S,
            contenders=count,
        )

    def _rounds(
        self, generator: np.random.Generator, count: int
    ) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """The number of each round and the contenders of its level, in the order of time."""
        levels = np.split(np.arange(count), self.levels)
        for first in range(0, self.rounds, self.rounds_per_block):
            order = generator.permutation(self.levels) if self.levels > 1 else [0]
            for place in order:
                for k in range(first, min(first + self.rounds_per_block, self.rounds)):
                    yield k, levels[place]


def race(
    generator: np.random.Generator, field: Field, schedule: Schedule, machine: Machine = NOISY
) -> SliceArrays:
    """One simulated race."""
    count = len(field.log_rates)
    slices = schedule.draw(generator, count)
    who, size = slices.contender, len(slices.contender)
    starts = generator.standard_normal(int(slices.instance.max()) + 1)
    smooth, depth = machine.state(generator, slices.time_s)
    feels = 1 + machine.sensitivity_sd * generator.standard_normal(count)
    noise = np.empty(size)
    for c in range(count):
        own = np.flatnonzero(who == c)
        noise[own] = field.slice_sd[c] * _own_noise(generator, len(own))
        noise[own] += _own_pauses(generator, len(own), field.pauses[c])
    if np.any(field.own_sd):
        noise += _slow_noise(generator, field, slices)
    gains = machine.gains(count)
    changed = machine.at_other_speed(generator, slices.time_s)
    alone = generator.random(size) < machine.spikes
    noise += np.where(alone, np.log(generator.uniform(0.5, 0.9, size)), 0.0)
    log_rate = (
        np.asarray(field.log_rates)[who]
        + np.asarray(field.instance_sd)[who] * starts[slices.instance]
        + smooth
        + gains[who] * changed
        + np.log(np.maximum(1 - depth * np.maximum(feels[who], 0), 0.05))
        + noise
    )
    return replace(slices, log_rate=log_rate)


def _own_noise(generator: np.random.Generator, count: int, correlation: float = 0.6) -> Floats:
    """Half white, half a first-order autoregression; unit variance."""
    white, shocks = generator.standard_normal((2, count))
    walk = shocks.copy()
    for i in range(1, count):
        walk[i] = correlation * walk[i - 1] + np.sqrt(1 - correlation**2) * shocks[i]
    return np.asarray(np.sqrt(0.5) * (white + walk))


def _slow_noise(generator: np.random.Generator, field: Field, slices: SliceArrays) -> Floats:
    """Of each slice, by its contender and its time."""
    sd = np.broadcast_to(field.own_sd, (slices.contenders,))
    noise = np.empty(len(slices))
    for c in range(slices.contenders):
        own = np.flatnonzero(slices.contender == c)
        keep = np.exp(-np.diff(slices.time_s[own]) / field.own_s)
        walk = generator.standard_normal(len(own))
        for i, each in enumerate(keep, start=1):
            walk[i] = each * walk[i - 1] + np.sqrt(1 - each**2) * walk[i]
        noise[own] = sd[c] * walk
    return noise


def _own_pauses(generator: np.random.Generator, count: int, kind: int) -> Floats:
    if kind == PAUSES:
        return np.where(generator.random(count) < 1 / 12, np.log(0.6), 0.0)
    if kind == TWO_MODES:
        flips = np.cumsum(generator.random(count) < 1 / 6) + generator.integers(2)
        return np.where(flips % 2 == 1, np.log(0.75), 0.0)
    return np.zeros(count)
