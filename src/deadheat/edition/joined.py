"""An edition: runs read as one set of servers by workloads, which the board shows.

A run holds a part of the servers, of the workloads, or all of them. Parts of one level are linked
by the contenders that they share (and controls, where a run's model has them), with the model of
`cluster` on one pair of hosts, so the intervals contain the link. All runs of one build count.
At each level the newest build of a server that was measured there is ranked; the older ones only
link the parts.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from deadheat.cluster.result import pair_run
from deadheat.edition.model import (
    BoardLevel,
    Edition,
    EditionPart,
    FailedCheck,
    Figures,
    PartLevel,
    PartRun,
    ServerFacts,
)
from deadheat.foreign_text import one_line
from deadheat.host.doctor import host_key
from deadheat.report import wording
from deadheat.report.findings.analysis import Standing, analyze
from deadheat.report.findings.common_rate import CommonCost, cost_of
from deadheat.report.findings.conclusion import answer
from deadheat.report.findings.footprint import memory_meaning
from deadheat.report.formats.tables import of_leader, rank
from deadheat.report.model.evidence import RawOutput
from deadheat.report.model.view import Cell, ContenderView, RunView
from deadheat.stats.ranking import host_pairs
from deadheat.stats.ranking.ranks import Ranking, share_left, without_interval
from deadheat.store.json_columns import StoredManifest
from deadheat.store.rows import StoredContender
from deadheat.workload import HELLO, Level, parts_of

UNLINKED = "no shared server links its run to the others"
TOO_FEW_STARTS = "it has too few fresh starts for an interval beside the servers of other runs"
NOT_SLICES = "its trials are not slices, so they cannot be joined with those of another run"
OLD_BUILD = "\0"  # before the key of a build that is no longer ranked, in a name of the model
CHECKS_MAX = 4  # failed checks of a cell that are named


def part_of(view: RunView, contenders: Sequence[StoredContender]) -> EditionPart:
    """What the board keeps of a run; `contenders` are its rows."""
    server = next((host for host in view.hosts if host.role == "server"), None)
    machine = wording.machine(server.fingerprint) if server else "unknown machine"
    key = f"{host_key(server.fingerprint) if server else machine}, {view.server_cpus} server CPUs"
    analysis = analyze(view)
    main = analysis.main if analysis.levels else None
    of = f"{one_line(view.workload)}: " if len(view.workloads) > 1 else ""
    run = PartRun(
        run_id=view.run_id,
        started_at=view.started_at,
        machine=machine,
        key=key if view.protocol.keep_alive else f"{key}, without keep-alive",
        protocol=view.protocol.name,
        command=view.command,
        margin=view.margin,
        confidence=view.confidence,
        memory=memory_meaning(view),
        answer=f"{of}{answer(view, main)}." if main else "Nothing was measured.",
        main=Level(view.workload, main.connections) if main else None,
        extensions=len(view.conclusion.extensions),
    )
    rows = {parts_of(row.name)[0]: row for row in reversed(contenders)}  # the first transport's
    raced = [(each.workload, row) for each in view.by_workload for row in each.contenders]
    raw: dict[str, dict[str, RawOutput]] = {}
    for workload, contender in raced:
        if contender.raw_output is not None:
            raw.setdefault(contender.name, {})[workload] = contender.raw_output
    facts: dict[str, ServerFacts] = {}
    for _, contender in raced:
        name = contender.name
        facts.setdefault(name, _facts(contender, rows[name], raw.get(name, {})))
    levels = tuple(level for each in view.by_workload for level in _levels(each, run))
    costs = {each.workload: cost for each in view.by_workload if (cost := cost_of(each))}
    return EditionPart(run, levels, facts, costs)


def _levels(view: RunView, run: PartRun) -> Iterable[PartLevel]:
    named = view.protocol.workload_named(view.workload)  # None for hello
    request = named.without_words.model_dump_json() if named else HELLO
    for level in analyze(view).levels:
        at = Level(view.workload, level.connections)
        yield PartLevel(
            level=at,
            request=request,
            served=level.served,
            ranking=level.ranking,
            sliced=view.sliced.get(level.connections),
            controls=frozenset(control.name for control in view.controls),
            limited=frozenset(view.client_gates.get(level.connections, {})),
            cells={each.contender.name: _figures(view, run, at, each) for each in level.standings},
        )


def _figures(view: RunView, run: PartRun, level: Level, standing: Standing) -> Figures:
    cell, reason = standing.cell, standing.reason
    slowest, fastest = cell.spread_per_s or (None, None)
    if not cell.trials and standing.contender.fault:
        reason = standing.contender.fault
    return Figures(
        run=run,
        level=level,
        version=standing.contender.version,
        rank=rank(standing),
        of_fastest=of_leader(standing),
        rate_per_s=cell.rate_per_s(view.aggregate),
        slowest_per_s=slowest,
        fastest_per_s=fastest,
        p99_us=cell.service["p99"],
        cpu_us=cell.server_cpu_us_per_request,
        memory_bytes=cell.memory_peak_bytes,
        trials=len(cell.trials),
        valid=len(cell.valid),
        checks=_checks(cell),
        reason=reason,
    )


def _checks(cell: Cell) -> tuple[FailedCheck, ...]:
    gates = [gate for trial in cell.trials for gate in trial.gates_failed]
    counts = Counter(gate.code for gate in gates)
    advice = {gate.code: gate.advice for gate in gates}
    return tuple(
        FailedCheck(code, trials, advice[code]) for code, trials in counts.most_common(CHECKS_MAX)
    )


def _facts(
    contender: ContenderView, row: StoredContender, raw: Mapping[str, RawOutput]
) -> ServerFacts:
    ready_s = [start.ready_s for start in contender.starts if start.ready_s is not None]
    heads = [start.behavior.head_bytes for start in contender.starts if start.behavior]
    commands = [start.command for start in contender.starts]
    return ServerFacts(
        name=contender.name,
        server=contender.server,
        setting=contender.setting,
        language=contender.language or "other",
        framework=contender.framework or "",
        kind=contender.kind or "",
        version=contender.version or "",
        homepage=contender.homepage or "",
        notes=contender.notes,
        ended=contender.ended,
        workloads=row.manifest.workloads,
        template_engine=row.manifest.template_engine,
        build_key=row.build_key,
        cold_start_s=statistics.median(ready_s) if ready_s else None,
        head_bytes=next((each for each in heads if each is not None), None),
        built=_built(row.manifest, contender),
        start=commands[-1] if commands else (),
        raw=raw,
        fault=contender.fault,
    )


def _built(manifest: StoredManifest, contender: ContenderView) -> tuple[str, ...]:
    """The build as the run has it: the recipe, its tools, and the log of the steps."""
    build = contender.build
    if build is None:
        return ()
    tools = [f"{name} {version}" for name, version in sorted(build.toolchains.items())]
    recipe = f"recipe {manifest.recipe}" if manifest.recipe else ""
    return tuple(filter(None, [recipe, ", ".join(tools)]))


def join(name: str, parts: Sequence[EditionPart]) -> Edition:
    """The edition of these parts; those that cannot be joined to the newest are left out.

    Raises ValueError without a part that has a level.
    """
    ordered = sorted((part for part in parts if part.served), key=lambda p: p.run.started_at)
    if not ordered:
        raise ValueError(f"{name}: no run has a level with a rate")
    newest, left_out = ordered[-1], {}
    joined: list[EditionPart] = []
    for part in ordered:
        if part.run.key == newest.run.key:
            joined.append(part)
        else:
            left_out[part.run.run_id] = f"it was measured on another machine: {part.run.key}"
    servers: dict[str, ServerFacts] = {}
    for part in joined:  # facts are those of the newest run; rates are those of all
        for contender, facts in part.servers.items():
            known = servers.get(contender)
            if known is None or facts.start or not known.start:
                servers[contender] = facts
    columns = _columns(joined)
    levels = tuple(_board_level(level, joined, servers) for level in columns)
    costs: dict[str, CommonCost] = {}
    for part in sorted(parts, key=lambda part: part.run.started_at):
        if part.run.key == newest.run.key:
            costs |= part.costs
    return Edition(name, tuple(part.run for part in joined), levels, servers, left_out, costs)


def _columns(parts: Sequence[EditionPart]) -> list[Level]:
    """One level for each workload: that with the most contenders, then the most connections."""
    raced: defaultdict[Level, set[str]] = defaultdict(set)
    order: dict[str, int] = {}
    for part in parts:
        for each in part.served:
            raced[each.level] |= {name for name, figures in each.cells.items() if figures.trials}
            order.setdefault(each.level.workload, len(order))
    best: dict[str, Level] = {}
    for level in sorted(raced, key=lambda level: (len(raced[level]), level.connections)):
        best[level.workload] = level
    return sorted(best.values(), key=lambda level: (level.workload != HELLO, order[level.workload]))


def _board_level(
    level: Level, parts: Sequence[EditionPart], servers: Mapping[str, ServerFacts]
) -> BoardLevel:
    having = [(part, each) for part in parts for each in part.served if each.level == level]
    request = having[-1][1].request
    having = [(part, each) for part, each in having if each.request == request]
    builds = _builds(having)
    cells: dict[str, Figures] = {}
    older: dict[str, str] = {}
    stale: list[frozenset[str]] = []
    for part, each in having:
        old = frozenset(name for name in each.cells if part.servers[name].build_key != builds[name])
        stale.append(old)
        for name, figures in each.cells.items():
            if name in old:
                continue
            if part.run.memory != having[-1][0].run.memory:  # of another meaning
                figures = replace(figures, memory_bytes=None)
            known = cells.get(name)
            if known is None or figures.valid or not known.valid:
                cells[name] = figures
            if builds[name] != servers[name].build_key:
                older[name] = part.servers[name].version
    controls = frozenset(name for _, each in having for name in each.controls)
    reasons = {name: figures.reason for name, figures in cells.items() if figures.reason}
    if len(having) > 1 or any(stale):
        column = _linked(level, having, stale, controls, cells, reasons)
    else:
        _, only = having[0]
        sliced = only.sliced
        column = BoardLevel(
            level,
            only.ranking,
            names=sliced.names if sliced else (),
            estimate=sliced.fit.estimate if sliced else None,
            controls=controls,
            cells=cells,
            reasons=reasons,
        )
    return replace(column, older=older)


def _builds(having: Sequence[tuple[EditionPart, PartLevel]]) -> dict[str, str | None]:
    """The build of each contender that counts at a level: its newest with a trial there.

    That may not be the newest of the edition, whose later runs may be of other workloads.
    """
    seen = [
        (name, part.servers[name].build_key, bool(figures.trials))
        for part, each in having
        for name, figures in each.cells.items()
    ]
    measured = {name: key for name, key, was_measured in seen if was_measured}
    return {name: key for name, key, _ in seen} | measured


def _linked(
    level: Level,
    having: Sequence[tuple[EditionPart, PartLevel]],
    stale: Sequence[frozenset[str]],
    controls: frozenset[str],
    cells: Mapping[str, Figures],
    reasons: dict[str, str],
) -> BoardLevel:
    """Several runs of a level as one model. Trials that are not slices take no part in it."""
    modeled = [
        (
            each,
            each.sliced,
            {
                name: f"{name}{OLD_BUILD}{part.servers[name].build_key}" if name in old else name
                for name in each.sliced.names
            },
        )
        for (part, each), old in zip(having, stale, strict=True)
        if each.sliced is not None
    ]
    names = tuple(dict.fromkeys(name for _, _, shown in modeled for name in shown.values()))
    index = {name: place for place, name in enumerate(names)}
    runs = [
        pair_run(0, model, {name: index[shown[name]] for name in shown}, each.limited)
        for each, model, shown in modeled
    ]
    fit = host_pairs.fit_host_pairs(runs, len(names), 1) if runs else None
    if fit is None:
        return _of_newest(level, having, controls, cells, reasons)
    newest, extensions = having[-1][0].run, sum(part.run.extensions for part, _ in having)
    share = _share([set(shown.values()) for _, _, shown in modeled], extensions)
    links = controls | {name for name in names if OLD_BUILD in name}

    def ranking_without(others: Collection[str], share: float) -> Ranking:
        apart = [name for name in names if name in others]
        spent = {"margin": newest.margin, "confidence": newest.confidence, "share": share}
        return host_pairs.rank_over_host_pairs(fit, names, controls=apart, **spent)

    whole = ranking_without(links, share)
    apart, linked = without_interval(whole), {row.name for row in whole.rows}
    ranking: Ranking | None = whole
    if apart:
        left = share * share_left(whole, apart)
        ranking = ranking_without(links | apart, left) if apart < linked else None
    ranked = linked - apart
    kept = {name: why for name, why in reasons.items() if name not in ranked}
    for name in cells:
        if name not in ranked and name not in kept:
            met = [run.linked().contender for run in runs if index.get(name, -1) in run.contender]
            others = {names[place] for each in met for place in each} - {name}
            unlinked = UNLINKED if name in index else NOT_SLICES
            kept[name] = TOO_FEW_STARTS if others & (ranked or linked) else unlinked
    return BoardLevel(level, ranking, names, host_pairs.estimate_of(fit), controls, cells, kept)


def _share(names_by_run: Sequence[set[str]], extensions: int) -> float:
    """The share of the error for the last look at an edition.

    A look comes before each extension of a run, and before a run whose contenders were all in
    earlier ones: these left something open. Look k spends 6 / (pi k)^2, so all spend at most all.
    """
    looks, seen = 1 + extensions, set[str]()
    for names in names_by_run:
        looks += names <= seen
        seen |= names
    return 6 / (math.pi * looks) ** 2


def _of_newest(
    level: Level,
    having: Sequence[tuple[EditionPart, PartLevel]],
    controls: frozenset[str],
    cells: Mapping[str, Figures],
    reasons: dict[str, str],
) -> BoardLevel:
    """Whole trials of several runs have no common model: the newest ranking counts alone."""
    ranking = next((each.ranking for _, each in reversed(having) if each.ranking), None)
    ranked = {row.name for row in ranking.rows} if ranking else set()
    kept = {name: reasons.get(name, NOT_SLICES) for name in cells if name not in ranked}
    return BoardLevel(level, ranking, (), None, controls, cells, kept)
