"""A level's standings in groups, as the published pages tell them apart."""

from collections.abc import Mapping, Sequence

from deadheat.report.findings.analysis import Standing

Groups = Mapping[str, Sequence[Standing]]

SINGLE, MULTI = "Single core (one worker)", "Multicore (several workers)"
BY_LANGUAGE = {"kzmake-2018", "costajob-2020"}  # whose rows are named `language, framework`
# One worker, with a thread for each connection: woo-2016 has it among those of four cores.
THREADED = "Hunchentoot (multi-threaded-taskmaster)"


def by_cores(standings: Sequence[Standing]) -> Groups:
    """One worker, then several, as woo-2016 does; a group without standings is left out."""
    groups = {
        SINGLE: [one for one in standings if not _several(one)],
        MULTI: [one for one in standings if _several(one)],
    }
    return {head: group for head, group in groups.items() if group}


def by_language(standings: Sequence[Standing]) -> Groups:
    """The language of the first standing first, as kzmake-2018 tells them apart."""
    groups: dict[str, list[Standing]] = {}
    for one in standings:
        groups.setdefault(one.contender.language or "no language told", []).append(one)
    return groups


def framework(one: Standing) -> str:
    """`cowboy + plug` of `Elixir, cowboy + plug`, for where the language is told already."""
    pages = {row.comparison for row in one.contender.published if row.row == one.name}
    return one.name.partition(", ")[2] if BY_LANGUAGE & pages else one.name


def _several(one: Standing) -> bool:
    return one.contender.workers > 1 or one.contender.label == THREADED
