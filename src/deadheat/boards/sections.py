"""Readings as an audit's page: five sentences to remember, then a section for each check."""

import re
from collections.abc import Iterator, Mapping, Sequence

from deadheat import numbers
from deadheat.audit.page import Page, Section
from deadheat.boards.readings import BoardFacts, BoardFinding, Figure, Readings
from deadheat.boards.words import CHECKS, DOES_WELL, same_of, share, tau, title_of
from deadheat.report.formats.tables import Column

NUMBER = re.compile(r"[-0-9.,]+( %| of [0-9,]+| \[.*\])?$|–$")
REMEMBERED, EXAMPLES = 5, 4
MOVED_MIN = 3  # places, before the editions are worth a sentence at the top
ROWS_MIN, ROWS_SHARE_MIN = 10, 0.1  # of a table, before impossible rows are worth one
LONG_DAYS = 7  # between two measurements: then the sentence says so, since more may have changed


def boards_page(readings: Readings) -> Page:
    """All formats but the HTML page show this."""
    names = numbers.listing([title_of(board.name) for board in readings.boards])
    return Page(
        title=f"{names}: what are the published figures worth?",
        heading=tuple(remember(readings)),
        command=readings.made_by,
        sections=tuple(sections(readings)),
        document=readings.model_dump(mode="json"),
    )


def sections(readings: Readings) -> Iterator[Section]:
    yield _sources(readings)
    for board in readings.boards:
        for code in CHECKS:
            findings = readings.of(board.name, code)
            if any(finding.fires for finding in findings):
                yield _section(board, code, findings)
        for finding in readings.of(board.name, "composite"):
            yield _composite(finding)
        beside = readings.of(board.name, "beside")
        if beside:
            yield from _beside(board, beside)
        if (without := _without_sign(readings, board)) is not None:
            yield without


def remember(readings: Readings) -> list[str]:
    """At most five short sentences with a figure or two each: the noise of each board first."""
    noise = [
        f"{title_of(board.name)}: {line}"
        for board in readings.boards
        for line in _on_noise(readings, board.name)
    ]
    others = [
        f"{title_of(board.name)}: {line}"
        for code, say in (
            ("little", _on_profiles),
            ("little", _on_rows),
            ("editions", _on_carried),
            ("plateau", _on_plateaus),
            ("editions", _on_moves),
            ("composite", _on_score),
            ("equal_percentiles", _on_percentiles),
        )
        for board in readings.boards
        for line in say(readings.of(board.name, code))
    ]
    return [*noise[:3], *others][:REMEMBERED]


def _on_noise(readings: Readings, board: str) -> Iterator[str]:
    repeats, survives = (readings.of(board, code) for code in ("repeats", "survives"))
    if not repeats or not survives:
        if any(readings.of(board, code) for code in CHECKS):
            yield (
                "these files have too few repeats, so its noise, and what a place means, is "
                "unknown."
            )
        return
    first = survives[0]
    days = repeats[0].number_if_any("median_days")
    later = f" {days:.0f} days later" if days is not None and days >= LONG_DAYS else ""
    shared = int(first.number("with_first"))
    end = (
        f"so {shared} entries share first place"
        if shared > 1
        else "and the first is ahead by more than that"
    )
    yield (
        f"measured again{later} with {same_of(board)}, one entry in 20 changed by more than "
        f"{share(first.number('needed'))}, {end} ({first.profile})."
    )


def _on_profiles(findings: Sequence[BoardFinding]) -> Iterator[str]:
    off = [finding for finding in findings if finding.values["under_way"]]
    if off:
        worst = off[0]
        yield (
            f"by its own latencies, {worst.number('connections'):,.0f} connections had about "
            f"{worst.number('under_way'):,.0f} requests under way ({worst.profile})."
        )


def _on_rows(findings: Sequence[BoardFinding]) -> Iterator[str]:
    many = [
        each
        for each in findings
        if each.number("more_than_connections") >= max(ROWS_MIN, ROWS_SHARE_MIN * each.judged)
    ]
    if many:
        worst = max(many, key=lambda finding: finding.number("more_than_connections"))
        yield (
            f"in {worst.values['more_than_connections']} of {worst.judged:,} rows, rate and "
            f"latency cannot both be right ({worst.profile})."
        )


def _on_carried(findings: Sequence[BoardFinding]) -> Iterator[str]:
    carried = [each for each in findings if each.number("carried") > each.judged / 2]
    if carried:
        last = carried[-1]
        yield (
            f"one edition has {last.values['carried']:,} of {last.judged:,} figures from the "
            f"edition before ({last.edition}, {last.profile})."
        )


def _on_moves(findings: Sequence[BoardFinding]) -> Iterator[str]:
    moving = [
        each
        for each in findings
        if each.number("measured") > each.judged / 2 and each.number("median_moved") >= MOVED_MIN
    ]
    if moving:
        worst = max(moving, key=lambda finding: finding.judged * finding.number("median_moved"))
        yield (
            "from one edition to the next, half of the entries moved "
            f"{worst.values['median_moved']} places or more, and one moved "
            f"{worst.values['most_moved']} ({worst.profile})."
        )


def _on_plateaus(findings: Sequence[BoardFinding]) -> Iterator[str]:
    plateaus = [finding for finding in findings if finding.fires]
    if plateaus:
        widest = max(plateaus, key=lambda finding: finding.found)
        middle = (widest.number("low_per_s") + widest.number("high_per_s")) / 2
        yield (
            f"{widest.found} entries have the same rate, about {middle:,.0f} requests/s, so "
            f"something that they share was the limit ({widest.profile})."
        )


def _on_score(findings: Sequence[BoardFinding]) -> Iterator[str]:
    for finding in findings:
        yield (
            f"without the test {finding.values['most_moved_without']}, "
            f"{finding.values['most_moved_entry']} moves {finding.values['most_moved']} places in "
            "the composite score."
        )


def _on_percentiles(findings: Sequence[BoardFinding]) -> Iterator[str]:
    rows = sum(finding.found for finding in findings if finding.fires)
    if rows:
        yield f"{numbers.count(rows, 'row')} have a p99 that is their mean."


def _sources(readings: Readings) -> Section:
    boards = readings.boards
    cells = (
        ("board", [title_of(board.name) for board in boards]),
        ("from", [board.source or ", ".join(board.files) for board in boards]),
        ("editions", [f"{board.editions:,}" for board in boards]),
        ("first", [board.first for board in boards]),
        ("last", [board.last for board in boards]),
        ("figures", [f"{board.figures:,}" for board in boards]),
        ("entries", [f"{board.entries:,}" for board in boards]),
        ("profiles", [f"{board.profiles:,}" for board in boards]),
    )
    well = [
        f"What {title_of(board.name)} does well: {DOES_WELL[board.name]}"
        for board in boards
        if board.name in DOES_WELL
    ]
    return Section("Sources", tuple(well), _columns(cells))


def _columns(cells: Sequence[tuple[str, Sequence[str]]]) -> tuple[Column, ...]:
    """Columns of numbers are on the right."""
    return tuple(
        Column(header, tuple(values), right=place > 0 and all(map(NUMBER.match, values)))
        for place, (header, values) in enumerate(cells)
    )


def _section(board: BoardFacts, code: str, findings: Sequence[BoardFinding]) -> Section:
    text = CHECKS[code]
    fires = [finding for finding in findings if finding.fires]
    cells = [("profile", [finding.profile for finding in fires])]
    cells += [(header, [cell(finding) for finding in fires]) for header, cell in text.columns]
    notes = _examples(code, fires)
    quiet = [finding.profile for finding in findings if not finding.fires]
    if quiet:
        notes.append(f"No sign of it: {', '.join(dict.fromkeys(quiet))}.")
    lines = (text.looks, f"What it means: {text.means}", f"What would fix it: {text.fix}")
    title = f"{title_of(board.name)}: {text.title}"
    return Section(title, lines, _columns(cells), tuple(notes))


def _examples(code: str, fires: Sequence[BoardFinding]) -> list[str]:
    """The worst row of each profile, as far as there is room."""
    example = CHECKS[code].example
    if example is None:
        return []
    shown = [finding for finding in fires if finding.rows][:EXAMPLES]
    return [f"{finding.profile}: {example(finding.rows[0])}." for finding in shown]


def _composite(finding: BoardFinding) -> Section:
    values = finding.values
    lines = (
        f"The board's rule over the {values['tests']} tests of these files: the mean rate of each "
        "test in percent of the best, summed. A missing test counts zero.",
        f"{values['partial']} of {finding.judged} entries miss a profile: their places show what "
        "they take part in as well as how fast they are.",
        f"Without one test, Kendall's tau-b with the whole is {values['least_tau_b']:.2f} or more; "
        f"without {values['most_moved_without']}, {values['most_moved_entry']} moves "
        f"{values['most_moved']} places."
        + (f" First without a test: {values['other_leaders']}." if values["other_leaders"] else ""),
        f"The best of each test is 100, so a filter changes the points of all others: without "
        f"{values['reversed_without']}, {values['reversed']} pairs of others turn around; "
        f"{values['reversing']} entries have such an effect.",
        f"With the board's noise drawn once more, {finding.found} of {finding.judged} entries may "
        f"have another place; {values['with_first']} may be first.",
        "What would fix it: normalize by a fixed reference, not by the best that is shown, and "
        "print places as intervals.",
    )
    cells = (
        ("entry", [str(row["entry"]) for row in finding.rows]),
        ("score", [numbers.figure(float(row["score"] or 0)) for row in finding.rows]),
        ("places with noise", [f"{row['first']}–{row['last']}" for row in finding.rows]),
    )
    return Section(f"{title_of(finding.board)}: the composite score", lines, _columns(cells))


def _beside(board: BoardFacts, findings: Sequence[BoardFinding]) -> Iterator[Section]:
    run, connections = findings[0].values["run"], findings[0].values["connections"]
    lines = (
        f"Servers in both, beside our run {run} at {connections} connections. Machines, numbers of "
        "CPUs, requests and versions differ, so a disagreement is a question and not an error of "
        "either side.",
        "Beyond noise: our run separates the pair, and the board has it the other way around by "
        "more than 19 of 20 repeats.",
    )
    cells = (
        ("profile", [finding.profile for finding in findings]),
        ("servers", [str(finding.values["shared"]) for finding in findings]),
        ("tau-b", [tau(finding) for finding in findings]),
        (
            "opposite",
            [f"{finding.values['opposite']} of {finding.judged:,}" for finding in findings],
        ),
        ("beyond noise", [str(finding.found) for finding in findings]),
        ("farthest", [str(finding.values["farthest"] or numbers.NONE) for finding in findings]),
    )
    title = f"{title_of(board.name)}: beside deadheat's own figures"
    yield Section(title, lines, _columns(cells))
    best = max(
        findings, key=lambda finding: (finding.number("shared"), -finding.number("opposite"))
    )
    yield _ratios(board, best)


def _ratios(board: BoardFacts, finding: BoardFinding) -> Section:
    lines = (
        f"Each server in percent of {finding.values['reference']}: ours with its 95 % interval, "
        f"and {finding.profile}. The last column has the noise of both.",
    )
    rows = finding.rows
    cells = (
        ("server", [str(row["server"]) for row in rows]),
        ("entry", [str(row["entry"]) for row in rows]),
        ("ours %", [_with_ends(row, "ours", 100) for row in rows]),
        ("board %", [_times(row["theirs"], 100) for row in rows]),
        ("board over ours", [_with_ends(row, "over", 1) for row in rows]),
    )
    title = f"{title_of(board.name)}: ratios here and there, {finding.profile}"
    return Section(title, lines, _columns(cells))


def _with_ends(row: Mapping[str, Figure], key: str, factor: float) -> str:
    middle, *ends = (_times(row[name], factor) for name in (key, f"{key}_low", f"{key}_high"))
    if numbers.NONE in ends or row[f"{key}_low"] == row[f"{key}_high"]:
        return middle
    return f"{middle} [{ends[0]}, {ends[1]}]"


def _times(value: Figure, factor: float) -> str:
    return numbers.figure(factor * value) if isinstance(value, int | float) else numbers.NONE


def _without_sign(readings: Readings, board: BoardFacts) -> Section | None:
    """The checks of a board that found nothing, and those that its files do not allow."""
    clear, lacking = [], []
    for code, text in CHECKS.items():
        findings = readings.of(board.name, code)
        if not findings:
            lacking.append(text.title)
        elif not any(finding.fires for finding in findings):
            judged = sum(finding.judged for finding in findings)
            clear.append(f"{text.title} ({numbers.count(judged, 'row')})")
    lines = [f"No sign: {'; '.join(clear)}."] if clear else []
    if lacking:
        lines.append(f"The files do not have what these need: {'; '.join(lacking)}.")
    if not lines:
        return None
    return Section(f"{title_of(board.name)}: checks without a sign", tuple(lines))
