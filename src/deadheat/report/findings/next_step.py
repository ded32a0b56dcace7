"""The command that would decide what a run left open."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.report.findings.analysis import Analysis
from deadheat.report.findings.conclusion import HOPELESS_S
from deadheat.report.model.runs import short_id
from deadheat.report.model.view import RunView
from deadheat.stats.alpha_spending import Looks
from deadheat.stats.distributions import NORMAL
from deadheat.stats.ranking import Pair

MINUTE_S = 60.0
BUDGET_S = 300.0  # of a new run, if the data do not say how long it takes


@dataclass(frozen=True, slots=True)
class Source:
    """How a command names the run."""

    argument: str

    @classmethod
    def stored(cls, view: RunView) -> "Source":
        """A run of the default store."""
        return cls(short_id(view.run_id))


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, and how many minutes it takes at most, if that is known."""

    command: str
    minutes: int | None = None


def is_hopeless(view: RunView, analysis: Analysis, pairs: Sequence[Pair]) -> bool:
    """Whether a day would not decide all of these pairs."""
    needed_s = _needed_s(view, analysis, pairs)
    return needed_s is not None and needed_s > HOPELESS_S


def next_step(view: RunView, analysis: Analysis, pairs: Sequence[Pair], source: Source) -> NextStep:
    """The command that would decide these pairs: more time, a longer race, or a wider margin."""
    names = [name for pair in pairs for name in (pair.faster, pair.slower)]
    if is_hopeless(view, analysis, pairs):
        margin = 100 * float(view.stopping.get("margin", 0.03))
        return NextStep(run_anew(view, names, ["--margin", f"{2 * margin:g}%"]))
    needed_s = _needed_s(view, analysis, pairs)
    if can_extend(view, source):
        minutes = math.ceil((needed_s or float(view.stopping["budget_s"])) / MINUTE_S)
        return NextStep(_more(view, minutes, source), minutes)
    if needed_s is None or not view.settles:
        return NextStep(run_anew(view, names, []))
    spent_s = float(view.elapsed_s or view.stopping.get("budget_s") or BUDGET_S)
    minutes = math.ceil((spent_s + needed_s) / MINUTE_S)
    return NextStep(run_anew(view, names, ["--budget", f"{minutes}m"]), minutes)


def more_for_lone(view: RunView, name: str, source: Source) -> NextStep:
    """The command that measures the only contender for longer."""
    spent_s = float(view.elapsed_s or view.stopping.get("budget_s") or BUDGET_S)
    minutes = math.ceil(max(spent_s, MINUTE_S) / MINUTE_S)
    if can_extend(view, source):
        return NextStep(_more(view, minutes, source), minutes)
    options = ["--budget", f"{2 * minutes}m"] if view.settles else []
    return NextStep(run_anew(view, [name], options))


def _more(view: RunView, minutes: int, source: Source) -> str:
    catalog = shlex.join(_catalog(view))
    return " ".join(filter(None, (f"deadheat run --more {minutes}m {source.argument}", catalog)))


def can_extend(view: RunView, source: Source) -> bool:
    """Whether `deadheat run --more` can continue it: a race of catalog servers, measured here."""
    return (
        view.settles
        and view.state == "complete"
        and view.conclusion.get("why") == "budget spent"
        and view.command[1:2] == ("run",)
        and "imported" not in view.conclusion
        and not source.argument.startswith("--from")
        and all(contender.language is not None for contender in view.contenders)
    )


def run_anew(view: RunView, names: Sequence[str], options: Sequence[str]) -> str:
    """A new run of these contenders; the same command with `options` if some are the user's own."""
    chosen = [contender for contender in view.contenders if contender.name in names]
    if any(contender.language is None or contender.setting != "default" for contender in chosen):
        words = list(view.command)
        end = words.index("--") if "--" in words else len(words)
        return shlex.join([*words[:end], *options, *words[end:]])
    servers = dict.fromkeys(contender.server for contender in chosen)
    return shlex.join(["deadheat", "run", *servers, *options, *_catalog(view)])


def settled_anew(view: RunView, names: Sequence[str]) -> str:
    """A new run of these servers at their default settings, until their order is settled."""
    chosen = [contender for contender in view.contenders if contender.name in names]
    servers = dict.fromkeys(contender.server for contender in chosen)
    return shlex.join(["deadheat", "run", *servers, *_catalog(view)])


def _catalog(view: RunView) -> list[str]:
    """The option that names the run's catalog, if its command had one."""
    words = list(view.command[: view.command.index("--") if "--" in view.command else None])
    for place, word in enumerate(words):
        if word == "--catalog":
            return words[place : place + 2]
        if word.startswith("--catalog="):
            return [word]
    return []


def _needed_s(view: RunView, analysis: Analysis, pairs: Sequence[Pair]) -> float | None:
    """The time that would decide all of these; None if the data do not say.

    The look at the end of an extension has a smaller share of the error, so it needs more blocks:
    as many times more as the square of the quantiles' ratio.
    """
    if analysis.block_s is None or any(pair.effort is None for pair in pairs):
        return None
    factor = _extension_factor(view, analysis)
    blocks = [
        factor * (pair.ratio.blocks + pair.effort.extra_blocks) - pair.ratio.blocks
        for pair in pairs
        if pair.effort is not None
    ]
    return max(1.0, *blocks) * analysis.block_s


def _extension_factor(view: RunView, analysis: Analysis) -> float:
    """How many times the blocks an extension needs, compared with a look like the last one."""
    ranking, share = analysis.main.ranking, view.conclusion.get("share")
    if ranking is None or share is None:
        return 1.0
    extensions = sum("more_s" in part for part in view.conclusion.get("resumed", ()))
    next_share = Looks().extension_share(extensions + 1)
    now, then = (
        NORMAL.inv_cdf(1 - (1 - ranking.level.confidence) * s / ranking.level.comparisons / 2)
        for s in (share, min(share, next_share))
    )
    return float((then / now) ** 2)
