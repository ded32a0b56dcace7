"""What to know before believing the figures of a run: short lines with advice."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
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
LOG_ADVICE = "turn off its request log, or raise --log-limit"
MORE_LOAD = "use more --load-threads"
# What each gate found, in words for who never heard of it; and what to do, or what it changes.
GATE_WORDS = {
    "achieved": ("the server could not keep up", "its latency grows"),
    "ceiling": ("the rate is near the most that the client can measure", MORE_LOAD),
    "client_cpu": ("the client was near its limit", MORE_LOAD),
    "client_resources": ("the client ran out of ports or open files", "see `deadheat doctor`"),
    "client_wait": ("the client waited for its CPU", "end other programs"),
    "errors": ("requests failed", "rates leave them out"),
    "frequency": ("the CPUs ran slower than before", "see `deadheat doctor`"),
    "listen_drops": ("a full queue dropped connections", "raise the server's backlog"),
    "little_law": (
        "connections or streams were idle, or the client lost time",
        "the rate is too low",
    ),
    "neighbor": ("other programs used the CPUs", "end them (see `top`)"),
    "network": ("the network was near its limit", "it may have set the rate"),
    "retransmits": ("packets were lost", "each loss may stall a connection"),
    "send_lag": ("the client sent late", f"use a lower rate, or {MORE_LOAD[4:]}"),
    "served": ("some connections got no answer", "raise the server's backlog"),
    "skew": ("the load hosts began too far apart", "use longer slices (--duration)"),
    "steady": ("the rate never became steady", "give it a longer warm-up"),
    "steal": ("other virtual machines took CPU time", "measure later"),
    "throttled": ("a CPU quota stopped the server or the client", "raise the quota"),
    "workers": ("worker processes of the server ended", "turn off what replaces them"),
}


@dataclass(frozen=True, slots=True)
class Caution:
    """One problem, the contenders it affects, and what to do. `code` is for machines.

    `brief` is for the first screen: what happened, and what to do or what it changes.
    """

    code: str
    contenders: tuple[str, ...]
    text: str
    advice: str | None = None
    brief: str = ""

    @property
    def shown(self) -> str:
        return self.brief or self.text


Case = tuple[str, str]  # a contender, and what happened to it


def cautions(view: RunView) -> tuple[Caution, ...]:
    """All cautions about a run, the most serious first; those of one kind are one."""
    contenders = (*view.contenders, *view.controls)
    return (
        *_state(view),
        *_same_machine(view),
        *_absent(contenders),
        *_joined("start-failed", "starts failed", contenders, _failed_starts),
        *_joined("trial-failed", "trials failed", contenders, _failed_trials),
        *_gates(view, contenders),
        *_workers(view),
        *_errors(contenders),
        *_joined("unsteady", "starts were not steady", contenders, _unsteady),
        *_joined("log-cut", "logs were cut", contenders, _cut_logs, LOG_ADVICE),
        *_client_limits(view),
        *_disturbed(view),
        *_level_cautions(view),
        *_too_short_to_gather(view),
        *_tls(view),
        *_unsupported(view),
    )


def _joined(
    code: str,
    lead: str,
    contenders: Iterable[ContenderView],
    details_of: Callable[[ContenderView], Iterable[str]],
    advice: str | None = None,
) -> Iterator[Caution]:
    cases = [(each.name, detail) for each in contenders for detail in details_of(each)]
    yield from _one(code, lead, cases, advice)


def _one(
    code: str, lead: str, cases: Sequence[Case], advice: str | None = None, tail: str = ""
) -> Iterator[Caution]:
    """One caution for all cases; the first screen has the details of a single case only."""
    names = tuple(dict.fromkeys(name for name, _ in cases))
    if len(cases) == 1:
        ((name, detail),) = cases
        yield Caution(code, names, f"{name}: {detail}{tail}", advice)
    elif cases:
        text = f"{lead}: {_first([f'{name} ({detail})' for name, detail in cases])}{tail}"
        yield Caution(code, names, text, advice, f"{lead}: {_first(names)}{tail}")


def _first(words: Sequence[str]) -> str:
    """`a, b, c, d and 3 more`"""
    more = [f"{len(words) - NAMED} more"] if len(words) > NAMED else []
    return listing([*words[:NAMED], *more])


def none_found(view: RunView) -> str:
    """The text if there are no cautions: what was checked."""
    if not view.trials:
        return "nothing was measured, so nothing was checked"
    if not view.gates:
        return "none, but no trial was checked for what disturbs it"
    trials = numbers.count(view.trials, "trial")
    return f"none: {trials} passed every gate ({', '.join(view.gates)})"


def _tls(view: RunView) -> Iterator[Caution]:
    """Servers whose version or cipher suite is not that of most others."""
    used = {each.name: ", ".join(each.tls.split(", ")[:2]) for each in view.contenders if each.tls}
    (most, _), *_ = Counter(used.values()).most_common() or [("", 0)]
    cases = [(name, tls) for name, tls in used.items() if tls != most]
    lead, tail = "servers with another TLS", f"; most others used {most}"
    yield from _one("tls", lead, cases, "enable TLS 1.3 in these servers", tail)


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


def _absent(contenders: Iterable[ContenderView]) -> Iterator[Caution]:
    faults = {each.name: _fault(each.fault) for each in contenders if each.fault}
    if len(faults) == 1:
        ((name, fault),) = faults.items()
        text = fault if fault.startswith(name) else f"{name} did not run: {fault}"
        yield Caution("absent", (name,), text)
        return
    cases = [(name, fault.removeprefix(name).lstrip(": ")) for name, fault in faults.items()]
    yield from _one("absent", "these did not run", cases)


def _fault(fault: str) -> str:
    """Its first line. Of a build step, whose command may be a script, the beginning is shown."""
    cut = BUILD_STEP.sub(lambda m: f"build step `{one_line(m[1], COMMAND_MAX)}`", fault.strip())
    return next(iter(cut.splitlines()), "")


def _failed_starts(contender: ContenderView) -> Iterator[str]:
    """The starts that failed, and if each was repeated; those of one that is out say no more."""
    if contender.fault:
        return
    good = {start.invocation for start in contender.starts if not start.fault}
    failed = [
        (start.fault.strip().partition("\n")[0], start.invocation in good)
        for start in contender.starts
        if start.fault
    ]
    for (fault, is_repeated), starts in Counter(failed).most_common():
        reason = fault.removeprefix(f"{contender.name} ")
        and_then = " and had to be repeated" if is_repeated else ""
        yield f"{count(starts, 'start')} failed{and_then}: {reason}"


def _failed_trials(contender: ContenderView) -> Iterator[str]:
    """One for each reason, over all its trials."""
    failed = [trial for trial in contender.trials if trial.state != "ok"]
    reasons = Counter(trial.reason or "no reason stored" for trial in failed)
    for reason, trials in reasons.most_common():
        lines = reason.strip().splitlines()
        yield f"{count(trials, 'trial')} failed: {lines[0] if lines else reason}"


def _gates(view: RunView, contenders: tuple[ContenderView, ...]) -> Iterator[Caution]:
    """One for each gate: what it found, in which trials, and its worst reading."""
    failed: defaultdict[str, list[tuple[str, Gate]]] = defaultdict(list)
    for contender in contenders:
        for trial in contender.trials:
            for gate in trial.gates_failed:
                failed[gate.code].append((contender.name, gate))
    if any(trial.errors for contender in contenders for trial in contender.trials):
        failed.pop("errors", None)  # `_errors` has more about them
    for code, cases in sorted(failed.items(), key=lambda item: -len(item[1])):
        names = Counter(name for name, _ in cases)
        worst = max((gate for _, gate in cases), key=_excess)
        in_all = len(cases) == view.trials > 1
        where = f"all {view.trials:,} trials" if in_all else _trials_of(names)
        what, to_do = GATE_WORDS.get(code, (f"the gate {code} failed", "see docs/gates.md"))
        these = "which does not count" if len(cases) == 1 else "which do not count"
        text = f"{what} in {where}, {these} ({_reading_of(worst)})"
        trials = where if in_all else f"{len(cases):,} of {count(view.trials, 'trial')}"
        yield Caution(
            code, tuple(names), text, worst.advice or None, f"{what} in {trials}: {to_do}"
        )


def _trials_of(trials_by_name: Counter[str]) -> str:
    """`3 trials of alpha and 1 trial of beta`."""
    ordered = trials_by_name.most_common()
    parts = [f"{count(trials, 'trial')} of {name}" for name, trials in ordered[:NAMED]]
    if others := ordered[NAMED:]:
        trials = sum(trials for _, trials in others)
        parts.append(f"{trials:,} of {count(len(others), 'other')}")
    return listing(parts)


def _reading_of(gate: Gate) -> str:
    """`gate steal: worst 4 %, limit 1 %`."""
    if gate.reading is None:
        return f"gate {gate.code}"
    if gate.threshold is None:
        return f"gate {gate.code}: worst {numbers.reading(gate.reading, gate.unit)}"
    worst, limit = numbers.reading_and_limit(gate.reading, gate.threshold, gate.unit)
    return f"gate {gate.code}: worst {worst}, limit {limit}"


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


def _errors(contenders: Iterable[ContenderView]) -> Iterator[Caution]:
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for contender in contenders:
        for trial in contender.trials:
            if trial.errors:
                totals[contender.name].update(trial.errors)
    cases = []
    for name, total in sorted(totals.items(), key=lambda item: -item[1].total()):
        classes = ", ".join(f"{requests:,} {class_}" for class_, requests in total.most_common())
        cases.append((name, f"{count(total.total(), 'request')} failed ({classes})"))
    yield from _one("errors", "requests failed", cases, tail="; rates leave them out")


def _client_limits(view: RunView) -> Iterator[Caution]:
    """Contenders that outran the client, judged over all their trials."""
    cases: defaultdict[str, list[tuple[str, int, Gate]]] = defaultdict(list)
    for connections, gates_of in view.client_gates.items():
        for name, gates in gates_of.items():
            for gate in gates:
                cases[gate.code].append((name, connections, gate))
    for code, failures in cases.items():
        what, to_do = GATE_WORDS[code]
        at = [f"{name} at {connections:,} connections" for name, connections, _ in failures]
        names = tuple(dict.fromkeys(name for name, _, _ in failures))
        worst = max((gate for _, _, gate in failures), key=_excess)
        bounds = (
            "its rate is a lower bound" if len(failures) == 1 else "their rates are lower bounds"
        )
        text = f"{what} with {_first(at)}, so {bounds} ({_reading_of(worst)})"
        yield Caution(code, names, text, worst.advice, f"{what} with {_first(names)}: {to_do}")


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


def _level_cautions(view: RunView) -> Iterator[Caution]:
    """Early slices that do not count; and rates that differ from a load without slices."""
    excluded, witnesses, silent = list[Case](), list[Case](), list[Case]()
    for level in view.sliced.values():
        for name, slices in level.slices.excluded.items():
            settlings = [settling for owner, settling in level.slices.settlings if owner == name]
            changes = listing([signed_percent(settling.change) for settling in settlings])
            unsettled = sum(not settling.settled for settling in settlings)
            detail = (
                f"{count(slices, 'early slice')} of {count(len(settlings), 'start')} "
                f"do not count: its rate then changed by {changes} beside the others"
            )
            if unsettled:
                detail += f", and after {count(unsettled, 'start')} it never settled"
            excluded.append((name, detail))
        fit = level.fit
        for name, witness, taken, silence in zip(
            level.names, fit.witness_gap, fit.without_slices, fit.silent_gap, strict=True
        ):
            if witness:
                moved = signed_percent(math.expm1(witness))
                detail = f"under steady load before the race its rate was {moved} beside the others"
                detail += ", which is the rate shown, because it pauses" if taken else ""
                witnesses.append((name, detail))
            if silence:
                share = percent(-math.expm1(-silence), 0)
                silent.append((name, f"it paused for {share} of the time, and was sent nothing"))
    yield from _one("settling", "early slices do not count", excluded)
    yield from _one(
        "witness", "rates under steady load were others", witnesses, tail="; intervals have both"
    )
    yield from _one(
        "silent", "these paused", silent, tail="; intervals have the rates with and without pauses"
    )


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


def _unsteady(contender: ContenderView) -> Iterator[str]:
    """Starts without a steady state, or with trouble during warm-up."""
    checks = [start.steady for start in contender.starts if start.steady]
    troubled = [steady for steady in checks if steady.trouble]
    if troubled:
        reasons = listing(list(dict.fromkeys(str(steady.trouble) for steady in troubled)))
        yield f"{reasons}, in {len(troubled)} of {count(len(checks), 'start')}"


def _cut_logs(contender: ContenderView) -> Iterator[str]:
    """Logs of which the middle was dropped, because the server wrote more than the limit."""
    cuts = [start.ended.log_cut_bytes or 0 if start.ended else 0 for start in contender.starts]
    if any(cuts):
        dropped = f"{numbers.mebibytes(sum(cuts))} MiB"
        starts = f"{sum(map(bool, cuts))} of {count(len(cuts), 'start')}"
        yield f"{dropped} were dropped from the middle of its log in {starts}"
