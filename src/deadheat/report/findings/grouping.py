"""A level's standings in the groups that the published pages use."""

from collections.abc import Mapping, Sequence

from deadheat.report.findings.analysis import Standing

Groups = Mapping[str, Sequence[Standing]]

SINGLE, MULTI = "Single core (one worker)", "Multicore (several workers)"
BY_LANGUAGE = {"kzmake-2018", "costajob-2020"}  # whose rows are named `language, framework`
# It has one worker and a thread for each connection; woo-2016 lists it with the multicore rows.
THREADED = "Hunchentoot (multi-threaded-taskmaster)"


def by_cores(standings: Sequence[Standing]) -> Groups:
    """One worker, then several, as in woo-2016; without empty groups."""
    groups = {
        SINGLE: [standing for standing in standings if not _has_several_workers(standing)],
        MULTI: [standing for standing in standings if _has_several_workers(standing)],
    }
    return {head: group for head, group in groups.items() if group}


def by_language(standings: Sequence[Standing]) -> Groups:
    """A group for each language, as in kzmake-2018, in the order of its first standing."""
    groups: dict[str, list[Standing]] = {}
    for standing in standings:
        groups.setdefault(standing.contender.language or "unknown language", []).append(standing)
    return groups


def framework(standing: Standing) -> str:
    """`cowboy + plug` of `Elixir, cowboy + plug`: the name without its language."""
    pages = {row.comparison for row in standing.contender.published if row.row == standing.name}
    return standing.name.partition(", ")[2] if BY_LANGUAGE & pages else standing.name


def _has_several_workers(standing: Standing) -> bool:
    return standing.contender.workers > 1 or standing.contender.label == THREADED
