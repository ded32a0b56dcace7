"""What the undecided pairs still need, and the command that would decide them."""

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deadheat import numbers
from deadheat.campaign.resume import place_options
from deadheat.catalog.manifest import HTTP, OVER_TLS
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.stats.distributions import NORMAL
from deadheat.stats.ranking.alpha_spending import Looks
from deadheat.stats.ranking.ranks import Pair
from deadheat.store.listing import kept_options
from deadheat.workload import parts_of

HOUR_S = 3600.0
MINUTE_S = 60.0
MINUTES_MIN = 2
BUDGET_S = 300.0  # of a new run, if nothing says how long it takes
MARGIN_MAX = 10  # percent: beyond it, "they differ by less" says little
KEPT = ("--catalog", "-c", "--connections", "--load-threads")
FLAGS = ("--close", "--asleep")


@dataclass(frozen=True, slots=True)
class Remaining:
    """What one undecided pair still needs, in a race of these two alone.

    `time_s` is None if the data do not say. `least` is the smallest difference that `reasonable_s`
    would separate: 0.004 is 0.4 %. None if the data do not say, or if it is above 100 %.
    """

    time_s: float | None
    reasonable_s: float
    least: float | None

    @property
    def too_close(self) -> bool:
        return self.time_s is not None and self.time_s > self.reasonable_s

    @property
    def text(self) -> str:
        """`below 0.4 %: too close to settle in an hour`, if it is."""
        if not self.too_close:
            return ""
        if self.least is None:
            return f"too uncertain to settle in {time_text(self.reasonable_s)}"
        least = numbers.percent(self.least, 0 if self.least >= 0.1 else 1)
        return f"below {least}: too close to settle in {time_text(self.reasonable_s)}"


def reasonable_s(view: RunView) -> float:
    """An hour, or as long again as a race that took longer."""
    return max(HOUR_S, float(view.race_s or 0.0))


def time_text(time_s: float) -> str:
    return "an hour" if time_s == HOUR_S else numbers.duration(time_s)


def remaining(view: RunView, analysis: Analysis, pair: Pair) -> Remaining:
    """What `pair` still needs; a race of two spends its time on fewer contenders than this one."""
    limit_s = reasonable_s(view)
    block_s = block_of(view, analysis, 2)
    if block_s is None or pair.effort is None or pair.outlook is None:
        return Remaining(None, limit_s, None)
    extra_blocks = max(limit_s / block_s - pair.ratio.blocks, 0.0)
    half_width = min(
        pair.outlook.half_width(extra_blocks), pair.outlook.half_width_in_place(extra_blocks)
    )
    least = math.expm1(half_width) if half_width < math.log(2) else None
    return Remaining((pair.ratio.blocks + pair.effort.extra_blocks) * block_s, limit_s, least)


def too_close(view: RunView, analysis: Analysis, pairs: Sequence[Pair]) -> list[Pair]:
    """Those of the pairs that a reasonable time would not decide."""
    return [pair for pair in pairs if remaining(view, analysis, pair).too_close]


def block_of(view: RunView, analysis: Analysis, contenders: int) -> float | None:
    """About the time for a block of so many contenders on one workload, in seconds."""
    if analysis.block_s is None:
        return None
    controls = len(view.controls)
    share = (contenders + controls) / max(view.measured + controls, contenders + controls)
    return analysis.block_s * share / max(len(view.workloads), 1)


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, and how many minutes it takes at most, if that is known."""

    command: str
    minutes: int | None = None


def next_step(view: RunView, analysis: Analysis, pairs: Sequence[Pair], source: str) -> NextStep:
    """The command that would decide these pairs: more time, a race of these, or a wider margin.

    Pairs that are too close do not count, unless all are. `source` names the run in a command: its
    id, or `--from FILE` for one that the reader's store does not have.
    """
    left_out = too_close(view, analysis, pairs)
    if len(left_out) == len(pairs):
        return _closest(view, analysis, pairs)
    pairs = [pair for pair in pairs if pair not in left_out]
    names, limit_s = _names(pairs), reasonable_s(view)
    extension_s = _extension_s(view, analysis, pairs)
    if can_extend(view, source) and (extension_s is None or extension_s <= limit_s):
        return _more(view, extension_s or view.budget_s or BUDGET_S, source)
    anew_s = _anew_s(view, analysis, pairs, len(names))
    if anew_s is None or not view.settles:
        return NextStep(run_anew(view, names, []))
    return _with_budget(view, names, min(anew_s, limit_s), [])


def _closest(view: RunView, analysis: Analysis, pairs: Sequence[Pair]) -> NextStep:
    """For pairs that are too close: a reasonable time, with a margin that it decides, if any.

    The interval has to lie within the margin, so the margin is the difference and the half width.
    """
    if not view.settles:
        return NextStep(run_anew(view, _names(pairs), []))
    leasts = [remaining(view, analysis, pair).least for pair in pairs]
    percents = [
        math.ceil(100 * (pair.ratio.ratio * (1 + least) - 1))
        for pair, least in zip(pairs, leasts, strict=True)
        if least is not None
    ]
    wider = len(percents) == len(pairs) and max(percents) <= MARGIN_MAX
    options = ["--margin", f"{max(percents)}%"] if wider else []
    return _with_budget(view, _names(pairs), reasonable_s(view), options)


def _names(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(name for pair in pairs for name in (pair.faster, pair.slower)))


def _with_budget(
    view: RunView, names: Sequence[str], time_s: float, options: Sequence[str]
) -> NextStep:
    minutes = max(math.ceil(time_s / MINUTE_S), MINUTES_MIN)
    return NextStep(run_anew(view, names, ["--budget", f"{minutes}m", *options]), minutes)


def more_for_lone(view: RunView, name: str, source: str) -> NextStep:
    """The command that measures the only contender for longer."""
    spent_s = view.race_s or view.budget_s or BUDGET_S
    minutes = math.ceil(max(spent_s, MINUTE_S) / MINUTE_S)
    if can_extend(view, source):
        return _more(view, minutes * MINUTE_S, source)
    options = ["--budget", f"{2 * minutes}m"] if view.settles else []
    return NextStep(run_anew(view, [name], options))


def _more(view: RunView, time_s: float, source: str) -> NextStep:
    minutes = math.ceil(time_s / MINUTE_S)
    command = f"deadheat resume {source} --more {minutes}m"
    return NextStep(" ".join(filter(None, (command, shlex.join(_where(view))))), minutes)


def _where(view: RunView) -> list[str]:
    """The options of the run that say of what catalog its servers are, and where they run."""
    return [*kept_options(view.command, ("--catalog",)), *place_options(view.command)]


def can_extend(view: RunView, source: str) -> bool:
    """Whether `deadheat resume --more` can go on: a race that was measured here."""
    return (
        view.settles
        and view.state == "complete"
        and view.conclusion.why == "budget spent"
        and view.command[1:2] == ("run",)
        and view.conclusion.imported is None
        and not source.startswith("--from")
    )


def run_anew(view: RunView, names: Sequence[str], options: Sequence[str]) -> str:
    """A new run of these contenders.

    It is the same command with `options` if some are the user's own, or have other workers.
    """
    chosen = [contender for contender in view.contenders if contender.name in names]
    repeats_command = any(
        each.language is None or f":w{each.workers}" in each.name for each in chosen
    )
    if repeats_command or view.command[1:2] == ("regress",):
        end = view.command.index("--") if "--" in view.command else len(view.command)
        return shlex.join([*_without(view.command[:end], options), *options, *view.command[end:]])
    servers = dict.fromkeys(
        each.server if each.setting == "default" else f"{each.server}:{each.setting}"
        for each in chosen
    )
    kept = [*kept_options(view.command, KEPT, FLAGS), *place_options(view.command)]
    name, transport = parts_of(view.workload)
    what = ["--workload", name] if "--workload" in " ".join(view.command) else []
    if transport != HTTP:
        what += ["--transport", transport]
        streams = view.protocol.only(view.workload).streams
        what += kept_options(view.command, ("--streams",)) if streams > 1 else []
        what += kept_options(view.command, ("--tls-key",)) if transport in OVER_TLS else []
    return shlex.join(["deadheat", "run", *servers, *what, *kept, *options])


def settled_anew(view: RunView, names: Sequence[str]) -> str:
    """A new run of these servers at their default settings, until their order is settled."""
    chosen = [contender for contender in view.contenders if contender.name in names]
    servers = dict.fromkeys(contender.server for contender in chosen)
    return shlex.join(["deadheat", "run", *servers, *_where(view)])


def _without(words: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """The words without the options among `options`, and without their values."""
    names = {word for word in options if word.startswith("--")}
    valued = {name for name, value in pairwise(options) if not value.startswith("--")} & names
    before = ""
    for word in words:
        if before not in valued and word.partition("=")[0] not in names:
            yield word
        before = word


def _anew_s(
    view: RunView, analysis: Analysis, pairs: Sequence[Pair], contenders: int
) -> float | None:
    """The time in which a race of these contenders alone would decide these pairs."""
    block_s, blocks = block_of(view, analysis, contenders), _blocks(pairs)
    if block_s is None or blocks is None:
        return None
    return block_s * max(measured + extra for measured, extra in blocks)


def _extension_s(view: RunView, analysis: Analysis, pairs: Sequence[Pair]) -> float | None:
    """The extension that would decide all of these; None if the data do not say.

    The look at its end has a smaller share of the error, so it needs more blocks: as many times
    more as the square of the quantiles' ratio.
    """
    blocks = _blocks(pairs)
    if analysis.block_s is None or blocks is None:
        return None
    factor = _extension_factor(view, analysis)
    more = [factor * (measured + extra) - measured for measured, extra in blocks]
    return max(1.0, *more) * analysis.block_s


def _blocks(pairs: Sequence[Pair]) -> list[tuple[int, int]] | None:
    """The blocks of each pair, and how many more decide it; None if the data do not say."""
    blocks = [(p.ratio.blocks, p.effort.extra_blocks) for p in pairs if p.effort is not None]
    return blocks if len(blocks) == len(pairs) else None


def _extension_factor(view: RunView, analysis: Analysis) -> float:
    """How many times the blocks an extension needs, compared with a look like the last one."""
    ranking, share = analysis.main.ranking, view.conclusion.share
    if ranking is None or share is None:
        return 1.0
    extensions = len(view.conclusion.extensions)
    next_share = Looks().extension_share(extensions + 1)
    now, then = (
        NORMAL.inv_cdf(1 - (1 - ranking.level.confidence) * s / ranking.level.comparisons / 2)
        for s in (share, min(share, next_share))
    )
    return float((then / now) ** 2)
