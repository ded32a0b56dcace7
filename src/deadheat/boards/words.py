"""What each check looks for, what it means, what would fix it, and its readings as text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deadheat import numbers
from deadheat.boards.readings import BoardFinding, Figure

TITLES = {
    "httparena": "HttpArena",
    "the-benchmarker": "the-benchmarker",
    "techempower": "TechEmpower",
}
SOURCES = {
    "httparena": "MDA2AV/HttpArena, site/data",
    "the-benchmarker": "the-benchmarker/web-frameworks, data.min.json",
    "techempower": "TechEmpower/FrameworkBenchmarks, results.json",
}
DOES_WELL = {
    "httparena": "It keeps every figure and each entry's source in one history, counts answers by "
    "status, describes its machine, and publishes CPU use and memory.",
    "the-benchmarker": "It measures more than 330 frameworks in the same way at three numbers of "
    "connections, publishes every percentile, and names the version of each framework.",
    "techempower": "It publishes the raw counts of each level, with errors and timeouts, and the "
    "source of each entry.",
}
SAME = {"the-benchmarker": "the same version", "techempower": "the same name"}
TENFOLD = 9.0


@dataclass(frozen=True, slots=True)
class CheckText:
    """`columns` are headers and cells of the table by profile; `example` is the worst row."""

    title: str
    looks: str
    means: str
    fix: str
    columns: tuple[tuple[str, Callable[[BoardFinding], str]], ...]
    example: Callable[[Mapping[str, Figure]], str] | None = None


def same_of(board: str) -> str:
    """What two measurements of one entry have in common, as far as the board states it."""
    return SAME.get(board, "unchanged source")


def title_of(board: str) -> str:
    return TITLES.get(board, board)


def share(value: float | None) -> str:
    """A difference as percent; a factor from ten on."""
    if value is None:
        return numbers.NONE
    if value > TENFOLD:
        return "more than tenfold"
    return numbers.percent(value, 0 if value >= 0.1 else 1)


def _share(key: str) -> Callable[[BoardFinding], str]:
    return lambda finding: share(finding.number_if_any(key))


def _figure(key: str) -> Callable[[BoardFinding], str]:
    def cell(finding: BoardFinding) -> str:
        value = finding.values.get(key)
        if isinstance(value, int | float):
            return numbers.figure(value)
        return numbers.NONE if value is None else value

    return cell


def _of_all(finding: BoardFinding) -> str:
    return f"{finding.found:,} of {finding.judged:,}"


def _edition(finding: BoardFinding) -> str:
    return finding.edition


def tau(finding: BoardFinding) -> str:
    middle, low, high = (finding.number(f"tau_{end}") for end in ("b", "low", "high"))
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def _separated(finding: BoardFinding) -> str:
    return f"{finding.values['separated']} of {finding.judged:,}"


def _farthest(finding: BoardFinding) -> str:
    return f"{finding.values['most_moved']} ({finding.values['moved_by']})"


def _profile_held(finding: BoardFinding) -> str:
    if finding.values["under_way"] is not None:
        return f"about {finding.number('under_way'):,.0f} of {finding.number('connections'):,.0f}"
    if finding.values["each"] is not None:
        return f"{finding.number('each'):.3g} for each connection"
    return "as many as connections"


def _cpus(finding: BoardFinding) -> str:
    cpus = numbers.figure(finding.number("cpus"))
    return cpus if finding.values["cpus_known"] == "yes" else f"{cpus}, as the busiest entries use"


def _ratio_row(row: Mapping[str, Figure]) -> str:
    rate_per_s, latency_ms, ratio = (
        float(row[key] or 0) for key in ("rate_per_s", "latency_ms", "ratio")
    )
    under_way = rate_per_s * latency_ms / 1000
    return (
        f"{row['entry']}: {_number(row, 'rate_per_s')} requests/s with {_number(row, 'latency_ms')}"
        f" ms have {under_way:,.0f} requests under way, and {ratio * under_way:,.0f} fit; "
        f"{row['cannot_be']}"
    )


def _number(row: Mapping[str, Figure], key: str) -> str:
    value = row[key]
    return numbers.figure(value) if isinstance(value, int | float) else numbers.NONE


def _rate_row(row: Mapping[str, Figure]) -> str:
    return f"{row['entry']}: {_number(row, 'rate_per_s')} requests/s"


CHECKS: Mapping[str, CheckText] = {
    "repeats": CheckText(
        title="Repeats: the board's own noise",
        looks="Entries that the board measured again with the same source, the same load and other "
        "figures. Changes that all entries share from one edition to the next are taken out.",
        means="Two entries that differ by less than one entry differs from itself have no known "
        "order. Base images and dependencies that are not pinned may have changed too, so these "
        "changes are an upper bound, the more so the longer the time between.",
        fix="Measure each entry several times in random order, and publish every figure.",
        columns=(
            ("repeats", lambda finding: f"{finding.judged:,}"),
            ("days between", _figure("median_days")),
            ("median change", _share("median_change")),
            ("one in 20 passes", _share("needed")),
            ("taken from", _figure("needed_from")),
            ("largest", _share("largest")),
            ("slowest third", _share("slowest_third")),
            ("fastest third", _share("fastest_third")),
            ("heavy tails", _figure("heavy")),
        ),
        example=lambda row: (
            f"{row['entry']}, {row['earlier']} and {row['later']}: "
            f"{_number(row, 'ratio')} times its own rate"
        ),
    ),
    "survives": CheckText(
        title="What survives that noise",
        looks="Neighbors in a table are separated if they differ by more than 19 of 20 repeats. "
        "An entry's places are those that this leaves open. Each pair is judged alone, which is "
        "generous: a table has thousands of pairs.",
        means="The rest of the order is a dead heat: another measurement may turn it around.",
        fix="Print places as intervals, and give entries that are not separated one place.",
        columns=(
            ("edition", _edition),
            ("needed", _share("needed")),
            ("for all pairs at once", _share("needed_jointly")),
            ("neighbors separated", _separated),
            ("median gap", _share("median_gap")),
            ("in a dead heat with the first", _figure("with_first")),
            ("places of an entry, median", _figure("median_places")),
        ),
    ),
    "editions": CheckText(
        title="From edition to edition",
        looks="Each whole edition beside the one before it: figures carried over, Kendall's tau-b, "
        "places moved, and changes beyond what repeats show.",
        means="A carried figure is not a second measurement. Places that move without a change of "
        "source are the board's noise.",
        fix="Mark which figures are new, and keep the date of each.",
        columns=(
            ("edition", _edition),
            ("before", _figure("before")),
            ("carried over", lambda f: f"{f.values['carried']:,} of {f.judged:,}"),
            ("tau-b", tau),
            ("places moved, median", _figure("median_moved")),
            ("farthest", _farthest),
            (
                "beyond noise",
                lambda f: f"{f.found:,}, {f.values['beyond_unchanged']} with unchanged source",
            ),
        ),
    ),
    "little": CheckText(
        title="Little's law",
        looks="Connections = rate x mean latency in a closed loop. Rows are listed if the left "
        "side is below 0.9 or above 1.25 of the right one; with the median latency, below 0.5, "
        "which no distribution allows, or above 1.5.",
        means="Below, more requests were under way than connections exist: rate or latency is "
        "wrong. Above, connections were idle, reconnecting or failing, or the latency leaves "
        "something out, as the median does with slow requests.",
        fix="Publish the mean latency of all requests, and the connections that were open.",
        columns=(
            ("latency", _figure("basis")),
            ("rows off", _of_all),
            ("too many under way", _figure("more_than_connections")),
            ("too few under way", _figure("fewer_than_connections")),
            ("whole profile", _profile_held),
        ),
        example=_ratio_row,
    ),
    "plateau": CheckText(
        title="Plateaus",
        looks="At least eight entries, and 4 % of a table, within 1.5 % of one rate, where chance "
        "allows fewer (Poisson, p < 0.001 over all windows).",
        means="Something that these entries share was the limit: the client, the network or how "
        "they meet the load, and not the entry.",
        fix="Run a null server at each level, and mark entries that reach what it reaches.",
        columns=(
            ("entries", _of_all),
            ("from", _figure("low_per_s")),
            ("to", _figure("high_per_s")),
            ("expected", _figure("expected")),
            ("faster entries", _figure("above")),
        ),
        example=_rate_row,
    ),
    "idle_cpus": CheckText(
        title="Idle CPUs",
        looks="Entries in the faster half that used less than 60 % of the server's CPUs.",
        means="Their rate is not what the server could do: the client, the network, a lock or the "
        "number of workers was the limit.",
        fix="Print the CPU time of a request beside the rate.",
        columns=(("rows", _of_all), ("CPUs", _cpus)),
        example=lambda row: f"{_rate_row(row)} with {_number(row, 'cpus')} CPUs",
    ),
    "too_many_cpus": CheckText(
        title="More CPU than there is",
        looks="Entries whose CPU use is more than 5 % above the CPUs that the server may use.",
        means="The reading is of another moment or another length than the rate.",
        fix="Read the CPU time of the container at the start and the end of the load.",
        columns=(("rows", _of_all), ("CPUs", _figure("cpus")), ("most", _figure("most"))),
        example=lambda row: f"{row['entry']}: {_number(row, 'cpus')} CPUs",
    ),
    "failures": CheckText(
        title="Failures",
        looks="Rows in which more than one request in 1,000 failed, had no answer, or ended in "
        "neither.",
        means="A failure is often cheaper than an answer, so such a rate is not comparable.",
        fix="Leave rows with failures out of the ranking.",
        columns=(("rows", _of_all), ("largest share", _share("largest_share"))),
        example=lambda row: (
            f"{row['entry']}: {_number(row, 'failed')} failed, "
            f"{_number(row, 'errors')} without an answer"
        ),
    ),
    "unended": CheckText(
        title="Counts that do not give the rate",
        looks="Counted answers over rate x duration, more than 5 % from 1. If most rows are off "
        "by one factor, it is that of the profile.",
        means="A factor of the profile is a duration other than the stated one. A row apart counts "
        "requests that ended in neither an answer nor an error, or not at all.",
        fix="Derive the rate from the counts and the measured duration.",
        columns=(
            ("profile's factor", _figure("off")),
            ("stated seconds", _figure("duration_s")),
            ("rows off", _of_all),
        ),
        example=lambda row: (
            f"{row['entry']}: {_number(row, 'rate_per_s')} requests/s, but "
            f"{_number(row, 'counted_per_s')} counted"
        ),
    ),
    "equal_percentiles": CheckText(
        title="p99 equal to the mean",
        looks="Rows whose p99 is their mean, to the last digit.",
        means="One of the two is the other: such a column says nothing of slow requests.",
        fix="Leave the column empty where the load generator prints no percentile.",
        columns=(("rows", _of_all), ("whole profile", _figure("whole_profile"))),
        example=lambda row: f"{row['entry']}: {_number(row, 'p99_ms')} ms in both columns",
    ),
    "falling_percentiles": CheckText(
        title="Percentiles that fall",
        looks="Rows in which a higher percentile is below a lower one.",
        means="No set of latencies has such percentiles: the columns are of several runs, or "
        "mixed up.",
        fix="Take all percentiles from one histogram.",
        columns=(("rows", _of_all),),
        example=lambda row: (
            f"{row['entry']}: p50 {_number(row, 'p50_ms')} ms, p99 {_number(row, 'p99_ms')} ms"
        ),
    ),
    "unreadable": CheckText(
        title="Rows without a figure",
        looks="Rows of any edition with a text in place of a latency, or with a rate of zero.",
        means="The board's reader did not understand the load generator's output, or the entry "
        "did not answer.",
        fix="Stop a run whose output cannot be read.",
        columns=(("rows", _of_all),),
        example=lambda row: f"{row['entry']}, {row['edition']}: {row['text']}",
    ),
}
