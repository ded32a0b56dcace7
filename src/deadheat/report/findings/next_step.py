"""The command that would decide what a run left open."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.report.findings.analysis import Analysis
from deadheat.report.findings.conclusion import HOPELESS_S
from deadheat.report.model.runs import short_id
from deadheat.report.model.view import RunView
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


def is_hopeless(analysis: Analysis, pairs: Sequence[Pair]) -> bool:
    """Whether a day would not decide all of these pairs."""
    needed_s = _needed_s(analysis, pairs)
    return needed_s is not None and needed_s > HOPELESS_S


def next_step(view: RunView, analysis: Analysis, pairs: Sequence[Pair]) -> str:
    """The command that would decide these pairs: a longer race, or a wider margin."""
    names = [name for pair in pairs for name in (pair.faster, pair.slower)]
    if is_hopeless(analysis, pairs):
        margin = 100 * float(view.stopping.get("margin", 0.03))
        return run_anew(view, names, ["--margin", f"{2 * margin:g}%"])
    needed_s = _needed_s(analysis, pairs)
    if needed_s is None or not view.settles:
        return run_anew(view, names, [])
    spent_s = float(view.elapsed_s or view.stopping.get("budget_s") or BUDGET_S)
    minutes = math.ceil((spent_s + needed_s) / MINUTE_S)
    return run_anew(view, names, ["--budget", f"{minutes}m"])


def run_anew(view: RunView, names: Sequence[str], options: Sequence[str]) -> str:
    """A new run of these contenders; the same command with `options` if some are the user's own."""
    chosen = [contender for contender in view.contenders if contender.name in names]
    if any(contender.language is None or contender.setting != "default" for contender in chosen):
        words = list(view.command)
        end = words.index("--") if "--" in words else len(words)
        return shlex.join([*words[:end], *options, *words[end:]])
    servers = dict.fromkeys(contender.server for contender in chosen)
    return shlex.join(["deadheat", "run", *servers, *options])


def _needed_s(analysis: Analysis, pairs: Sequence[Pair]) -> float | None:
    """The time that would decide all of these; None if the data do not say."""
    efforts = [pair.effort for pair in pairs if pair.effort is not None]
    if analysis.block_s is None or len(efforts) < len(pairs):
        return None
    return max(1, *(effort.extra_blocks for effort in efforts)) * analysis.block_s
