"""What to know before believing the figures of a run: short lines with advice."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.numbers import count, listing, percent, signed_percent
from deadheat.report import wording
from deadheat.report.model.slice_fit import waits
from deadheat.report.model.view import ContenderView, RunView
from deadheat.store import Gate

NAMED = 4
COMMAND_MAX = 40  # characters
TOO_SHORT_MIN = 0.5  # of a trial's waits
BUILD_STEP = re.compile(r"build step `([^`]*)`")


@dataclass(frozen=True, slots=True)
class Caution:
    """One problem, the contenders it affects, and what to do. `code` is for machines."""

    code: str
    contenders: tuple[str, ...]
    text: str
    advice: str | None = None


def cautions(view: RunView) -> tuple[Caution, ...]:
    """All cautions about a run, the most serious first."""
    contenders = (*view.contenders, *view.controls)
    return (
        *_state(view),
        *_same_machine(view),
        *(_absent(contender) for contender in contenders if contender.fault),
        *(caution for contender in contenders for caution in _repeated_starts(contender)),
        *(caution for contender in contenders for caution in _failed_trials(contender)),
        *_gates(view, contenders),
        *_workers(view),
        *(caution for contender in contenders for caution in _errors(contender)),
        *(caution for contender in contenders for caution in _unsteady(contender)),
        *(caution for contender in contenders for caution in _cut_logs(contender)),
        *_client_limits(view),
        *_disturbed(view),
        *_excluded(view),
        *_disagreeing(view),
        *_too_short_to_gather(view),
        *_unsupported(view),
    )


def none_found(view: RunView) -> str:
    """The text if there are no cautions: what was checked."""
    if not view.trials:
        return "nothing was measured, so nothing was checked"
    if not view.gates:
        return "none, but no trial was checked for what disturbs it"
    trials = numbers.count(view.trials, "trial")
    return f"none: {trials} passed every gate ({', '.join(view.gates)})"


def _unsupported(view: RunView) -> Iterator[Caution]:
    """Contenders of a line whose support had ended when they ran."""
    ended = {each.name: each.ended for each in view.contenders if each.ended}
    if not ended:
        return
    lines = []
    for name, of_one in ended.items():
        days = ", ".join(f"{one_line(line)} until {day}" for line, day in of_one.items())
        lines.append(f"{one_line(name)} ({days})")
    more = f" and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    text = f"past the end of support: {', '.join(lines[:NAMED])}{more}"
    yield Caution("unsupported", tuple(ended), text, "its project's present version may differ")


def _state(view: RunView) -> Iterator[Caution]:
    if view.state in wording.UNENDED:
        text = f"{wording.UNENDED[view.state]}: the results so far are shown"
        yield Caution(view.state, (), text)
    elif view.state != "complete":
        ended = "failed" if view.state == "failed" else f"was {view.state}"
        why = view.conclusion.why or view.state
        text = ended if why == view.state else f"{ended}: {why}"
        yield Caution(view.state, (), f"the run {text}; the results up to then are shown")


def _same_machine(view: RunView) -> Iterator[Caution]:
    """Two hosts that are two namespaces or containers."""
    links = (host.fingerprint.link for host in view.hosts)
    if any(link is not None and link.same_machine for link in links):
        text = "the hosts are namespaces or containers of one machine, and share its CPUs"
        yield Caution("same_machine", (), text, "for rates of two machines, use two machines")


def _absent(contender: ContenderView) -> Caution:
    fault = BUILD_STEP.sub(_cut, (contender.fault or "").strip()).splitlines()[0]
    text = fault if fault.startswith(contender.name) else f"{contender.name} did not run: {fault}"
    return Caution("absent", (contender.name,), text)


def _cut(step: re.Match[str]) -> str:
    """A build step with the beginning of its command, which may be a script."""
    return f"build step `{one_line(step[1], COMMAND_MAX)}`"


def _repeated_starts(contender: ContenderView) -> Iterator[Caution]:
    """The starts that failed and were tried again; the last of a contender that is out is not."""
    faults = [start.fault.strip() for start in contender.starts if start.fault]
    if contender.fault and faults:
        faults.pop()
    for fault, starts in Counter(fault.partition("\n")[0] for fault in faults).most_common():
        reason = fault.removeprefix(f"{contender.name} ")
        text = f"{contender.name}: {count(starts, 'start')} failed and had to be repeated: {reason}"
        yield Caution("start-repeated", (contender.name,), text)


def _failed_trials(contender: ContenderView) -> Iterator[Caution]:
    """A line for each contender and reason, over all its trials."""
    failed = [trial for trial in contender.trials if trial.state != "ok"]
    reasons = Counter(trial.reason or "no reason stored" for trial in failed)
    for reason, trials in reasons.most_common():
        lines = reason.strip().splitlines()
        text = f"{contender.name}: {count(trials, 'trial')} failed: {lines[0] if lines else reason}"
        yield Caution("trial-failed", (contender.name,), text)


def _gates(view: RunView, contenders: tuple[ContenderView, ...]) -> Iterator[Caution]:
    """A line for each gate: who failed it how often, and the worst reading."""
    failed: defaultdict[str, list[tuple[str, Gate]]] = defaultdict(list)
    for contender in contenders:
        for trial in contender.trials:
            for gate in trial.gates_failed:
                failed[gate.code].append((contender.name, gate))
    for code, cases in sorted(failed.items(), key=lambda item: -len(item[1])):
        names = Counter(name for name, _ in cases)
        worst = max((gate for _, gate in cases), key=_excess)
        in_all = len(cases) == view.trials > 1
        where = f"all {view.trials:,} trials" if in_all else _trials_of(names)
        text = f"{code}: failed in {where}{_worst_reading(worst)}"
        yield Caution(code, tuple(names), text, worst.advice or None)


def _trials_of(trials_by_name: Counter[str]) -> str:
    """`3 trials of alpha and 1 trial of beta`."""
    ordered = trials_by_name.most_common()
    parts = [f"{count(trials, 'trial')} of {name}" for name, trials in ordered[:NAMED]]
    if others := ordered[NAMED:]:
        trials = sum(trials for _, trials in others)
        parts.append(f"{trials:,} of {count(len(others), 'other')}")
    return listing(parts)


def _worst_reading(gate: Gate) -> str:
    if gate.reading is None:
        return ""
    if gate.threshold is None:
        return f" (worst {numbers.reading(gate.reading, gate.unit)})"
    worst, limit = numbers.reading_and_limit(gate.reading, gate.threshold, gate.unit)
    return f" (worst {worst}, limit {limit})"


def _excess(gate: Gate) -> float:
    if gate.reading is None or gate.threshold is None:
        return 0.0
    return abs(gate.reading - gate.threshold)


def _workers(view: RunView) -> Iterator[Caution]:
    """More workers than CPUs: they take turns."""
    cpus = view.server_cpus
    crowded = [c for c in view.contenders if c.workers > cpus and not c.fault] if cpus else []
    if not crowded:
        return
    named = [f"{count(c.workers, 'worker')} of {c.name}" for c in crowded[:NAMED]]
    if others := crowded[NAMED:]:
        named.append(f"those of {count(len(others), 'other')}")
    text = f"{listing(named)} on {count(cpus, 'CPU')}: workers without a CPU take turns"
    names = tuple(contender.name for contender in crowded)
    as_published = view.protocol.origin is not None
    advice = None if as_published else f"use --workers {cpus}, or give the server more CPUs"
    yield Caution("workers", names, text, advice)


def _errors(contender: ContenderView) -> Iterator[Caution]:
    total: Counter[str] = Counter()
    for trial in contender.trials:
        total.update(trial.errors)
    if total:
        classes = ", ".join(f"{requests:,} {name}" for name, requests in total.most_common())
        text = f"{contender.name}: {count(total.total(), 'request')} failed ({classes})"
        yield Caution("errors", (contender.name,), f"{text}; rates do not include them")


def _client_limits(view: RunView) -> Iterator[Caution]:
    """Contenders that outran the client, judged over all their trials."""
    for connections, gates_of in view.client_gates.items():
        for name, gates in gates_of.items():
            for gate in gates:
                text = f"{gate.code}: {name} at {connections:,} connections{_worst_reading(gate)}"
                yield Caution(gate.code, (name,), text, gate.advice)


def _disturbed(view: RunView) -> Iterator[Caution]:
    """Slices that do not count, because the client waited for its CPU."""
    waits_by_name = {contender.name: _waits(view, contender) for contender in view.contenders}
    names = tuple(name for name, (waited, _) in waits_by_name.items() if waited)
    if names:
        waited_of_all, all_slices = map(sum, zip(*waits_by_name.values(), strict=True))
        worst = max(names, key=lambda name: waits_by_name[name][0] / waits_by_name[name][1])
        waited, slices = waits_by_name[worst]
        text = (
            f"the client waited for its CPU in {waited_of_all:,} of {all_slices:,} slices, which "
            f"do not count (most often in those of {worst}: {waited:,} of {slices:,})"
        )
        yield Caution("client_wait", names, text)


def _waits(view: RunView, contender: ContenderView) -> tuple[int, int]:
    """In how many slices the client waited for its CPU, and how many slices there were."""
    counts = [
        view.sliced[level].slices.waits[contender.name]
        if level in view.sliced
        else waits(cell.valid)
        for level, cell in contender.cells.items()
    ]
    return sum(waited for waited, _ in counts), sum(slices for _, slices in counts)


def _excluded(view: RunView) -> Iterator[Caution]:
    """Early slices that do not count, because their instance was still climbing or sinking."""
    for level in view.sliced.values():
        for name, slices in level.slices.excluded.items():
            settlings = [settling for owner, settling in level.slices.settlings if owner == name]
            changes = listing([signed_percent(settling.change) for settling in settlings])
            unsettled = sum(not settling.settled for settling in settlings)
            text = (
                f"{name}: {count(slices, 'early slice')} of {count(len(settlings), 'start')} "
                f"do not count: its rate then changed by {changes} beside the others"
            )
            if unsettled:
                text += f", and after {count(unsettled, 'start')} it never settled"
            yield Caution("settling", (name,), text)


def _disagreeing(view: RunView) -> Iterator[Caution]:
    """Contenders whose rate in slices is not that of the load before them, without slices."""
    for level in view.sliced.values():
        for name, gap in zip(level.names, level.fit.witness_gap, strict=True):
            if gap:
                text = (
                    f"{name}: under steady load before the race its rate was "
                    f"{signed_percent(math.expm1(gap))} beside the others; its interval has both"
                )
                yield Caution("witness", (name,), text)
        for name, gap in zip(level.names, level.fit.silent_gap, strict=True):
            if gap:
                text = (
                    f"{name}: it paused for {percent(-math.expm1(-gap), 0)} of the time, so "
                    "nothing was sent; its interval has the rates with and without pauses"
                )
                yield Caution("silent", (name,), text)


def _too_short_to_gather(view: RunView) -> Iterator[Caution]:
    """The kernel could not wait for so short a time, so the client took each answer at once."""
    names = tuple(
        contender.name
        for contender in view.contenders
        for cell in contender.cells.values()
        if any((t.too_short_to_gather_share or 0.0) >= TOO_SHORT_MIN for t in cell.valid)
    )
    if names:
        text = (
            f"the rate of {listing(list(dict.fromkeys(names)))} depends on the client: the time to "
            "gather answers was shorter than the kernel can wait"
        )
        yield Caution("client_gathering", names, text, "use more connections")


def _unsteady(contender: ContenderView) -> Iterator[Caution]:
    """Starts without a steady state, or with trouble during warm-up."""
    checks = [start.steady for start in contender.starts if start.steady]
    troubled = [steady for steady in checks if steady.get("trouble")]
    if troubled:
        reasons = listing(list(dict.fromkeys(str(steady["trouble"]) for steady in troubled)))
        text = f"{contender.name}: {reasons}, in {len(troubled)} of {count(len(checks), 'start')}"
        yield Caution("unsteady", (contender.name,), text)


def _cut_logs(contender: ContenderView) -> Iterator[Caution]:
    """Logs of which the middle was dropped, because the server wrote more than the limit."""
    cuts = [int((start.ended or {}).get("log_cut_bytes") or 0) for start in contender.starts]
    if any(cuts):
        dropped = f"{numbers.mebibytes(sum(cuts))} MiB"
        text = (
            f"{contender.name}: {dropped} were dropped from the middle of its log in "
            f"{sum(map(bool, cuts))} of {count(len(cuts), 'start')}"
        )
        advice = "turn off its request log, or raise --log-limit"
        yield Caution("log-cut", (contender.name,), text, advice)
