"""Every doubt about a run, as one short line with its advice."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from deadheat.report import format
from deadheat.report.format import count, listing
from deadheat.report.model.view import ContenderView, RunView
from deadheat.store import Gate

NAMED = 4


@dataclass(frozen=True, slots=True)
class Caution:
    """What is doubtful, about whom, and what to do. `code` is for machines."""

    code: str
    contenders: tuple[str, ...]
    text: str
    advice: str | None = None


def cautions(view: RunView) -> tuple[Caution, ...]:
    """What a reader has to know before believing the figures, the gravest first."""
    contenders = (*view.contenders, *view.controls)
    return (
        *_state(view),
        *(_absent(one) for one in contenders if one.fault),
        *(caution for one in contenders for caution in _failed_trials(one)),
        *_gates(view, contenders),
        *(caution for one in contenders for caution in _errors(one)),
        *(caution for one in contenders for caution in _unsteady(one)),
    )


def none_found(view: RunView) -> str:
    """What to say where there is no doubt: how much was asked."""
    if not view.gates:
        return "none; but no gate was read of any trial"
    trials = format.count(view.trials, "trial")
    return f"none: {trials} passed every gate ({', '.join(view.gates)})"


def _state(view: RunView) -> Iterator[Caution]:
    if view.state in format.UNENDED:
        text = f"{format.UNENDED[view.state]}: what it measured so far is shown"
        yield Caution(view.state, (), text)
    elif view.state != "complete":
        ended = "failed" if view.state == "failed" else f"was {view.state}"
        why = str(view.conclusion.get("why") or view.state)
        text = ended if why == view.state else f"{ended}: {why}"
        yield Caution(view.state, (), f"the run {text}; what it measured is shown")


def _absent(one: ContenderView) -> Caution:
    told = (one.fault or "").strip().splitlines()[0]
    text = told if told.startswith(one.name) else f"{one.name} is out: {told}"
    return Caution("absent", (one.name,), text)


def _failed_trials(one: ContenderView) -> Iterator[Caution]:
    """One line a contender and reason, over all its trials."""
    failed = [trial for trial in one.trials if trial.state != "ok"]
    reasons = Counter(trial.reason or "no reason kept" for trial in failed)
    for reason, trials in reasons.most_common():
        lines = reason.strip().splitlines()
        text = f"{one.name}: {count(trials, 'trial')} failed: {lines[0] if lines else reason}"
        yield Caution("trial-failed", (one.name,), text)


def _gates(view: RunView, contenders: tuple[ContenderView, ...]) -> Iterator[Caution]:
    """One line a gate: who failed it how often, and the worst reading."""
    failed: defaultdict[str, list[tuple[str, Gate]]] = defaultdict(list)
    for one in contenders:
        for trial in one.trials:
            for gate in trial.gates_failed:
                failed[gate.code].append((one.name, gate))
    for code, cases in sorted(failed.items(), key=lambda item: -len(item[1])):
        names = Counter(name for name, _ in cases)
        worst = max((gate for _, gate in cases), key=_excess)
        who = f"all {view.trials:,} trials" if len(cases) == view.trials > 1 else _who(names)
        text = f"{code}: failed in {who}{_reading(worst)}"
        yield Caution(code, tuple(names), text, worst.advice or None)


def _who(names: Counter[str]) -> str:
    told = [f"{count(trials, 'trial')} of {name}" for name, trials in names.most_common(NAMED)]
    if rest := sum(trials for _, trials in names.most_common()[NAMED:]):
        told.append(f"{rest:,} of {count(len(names) - NAMED, 'other')}")
    return listing(told)


def _reading(gate: Gate) -> str:
    if gate.reading is None:
        return ""
    if gate.threshold is None:
        return f" (worst {format.reading(gate.reading, gate.unit)})"
    worst, limit = format.told_apart(gate.reading, gate.threshold, gate.unit)
    return f" (worst {worst}, limit {limit})"


def _excess(gate: Gate) -> float:
    if gate.reading is None or gate.threshold is None:
        return 0.0
    return abs(gate.reading - gate.threshold)


def _errors(one: ContenderView) -> Iterator[Caution]:
    total: Counter[str] = Counter()
    for trial in one.trials:
        total.update(trial.errors)
    if total:
        classes = ", ".join(f"{requests:,} {name}" for name, requests in total.most_common())
        text = f"{one.name}: {count(total.total(), 'request')} failed ({classes})"
        yield Caution("errors", (one.name,), f"{text}; they are in no rate")


def _unsteady(one: ContenderView) -> Iterator[Caution]:
    """Starts after which no steady state was found, or warming went wrong."""
    looked = [start.steady for start in one.starts if start.steady]
    troubled = [steady for steady in looked if steady.get("trouble")]
    if troubled:
        reasons = listing(list(dict.fromkeys(str(steady["trouble"]) for steady in troubled)))
        text = f"{one.name}: {reasons}, in {len(troubled)} of {count(len(looked), 'start')}"
        yield Caution("unsteady", (one.name,), text)
