"""The combined result as text on a terminal."""

from collections.abc import Iterator, Sequence

from deadheat import numbers
from deadheat.cluster.combine import Combined, CombinedLevel, PairSpeed
from deadheat.cluster.record import ClusterRecord, PairRecord
from deadheat.foreign_text import one_line
from deadheat.stats.known_interval import dead_heats
from deadheat.stats.ratio import RatioInterval

Table = Sequence[Sequence[str]]


def write(combined: Combined) -> str:
    """The result of each level, then the pairs of hosts, and what does not count."""
    record = combined.record
    parts = [_heading(record)]
    for level in combined.levels:
        parts += ["", *_level(combined, level)]
    if not combined.levels:
        parts += ["", "nothing can be compared: no run that counts has two contenders"]
    parts += ["", *_lines(_runs(record), right=(3, 4)), *_remarks(combined)]
    return "\n".join(parts) + "\n"


def _heading(record: ClusterRecord) -> str:
    runs = numbers.count(len(record.runs), "run")
    servers = numbers.count(len(record.servers), "server")
    text = f"{servers} on {numbers.count(len(record.pairs), 'pair')} of hosts, {runs}"
    return f"{text}; the cluster run is {record.state}" if record.state != "complete" else text


def _level(combined: Combined, level: CombinedLevel) -> Iterator[str]:
    record, ranking = combined.record, level.ranking
    yield f"{level.workload}, {level.connections} connections"
    rows = [
        (
            row.rank,
            one_line(row.name),
            numbers.rate(row.rate_median),
            f"{100 * row.ratio_to_leader.ratio:.1f}",
            _interval(row.ratio_to_leader, 100),
            "all" if row.name in record.shared else _numbers(level.pairs_of[row.name]),
        )
        for row in ranking.rows
    ]
    head = ("rank", "server", "req/s", "% of fastest", "interval", "pairs")
    yield from _lines([head, *rows], right=(2, 3))
    for group in dead_heats(ranking):
        yield f"dead heat: {numbers.listing([one_line(name) for name in group])}"
    if level.limited:
        yield f"left out, they outran the client: {', '.join(map(one_line, level.limited))}"
    yield f"rates are those at the mean of the pairs; intervals hold jointly at {_percent(record)}"
    yield _interaction(level)
    yield ""
    speeds = [("pair", "runs", "speed", "interval"), *map(_speed, level.speeds)]
    yield from _lines(speeds, right=(1, 2))


def _speed(speed: PairSpeed) -> tuple[str, ...]:
    return (
        str(speed.number),
        str(speed.runs),
        numbers.percent(speed.ratio.ratio),
        "the others are compared with it" if speed.ratio.low == 1 else _interval(speed.ratio, 100),
    )


def _interaction(level: CombinedLevel) -> str:
    fit = level.fit
    if len(level.speeds) == 1:
        return "one pair of hosts: ratios hold for this pair"
    if fit.interaction_degrees == 0:
        return "no interval across pairs: fewer than two contenders count on several pairs"
    return (
        f"a pair of hosts changes the rate of one contender alone by "
        f"{numbers.percent(fit.interaction_sd)} (standard deviation, "
        f"{fit.interaction_degrees} degrees of freedom); the intervals contain this"
    )


def _runs(record: ClusterRecord) -> Table:
    """A row for each run: where, of whom, and what Ray used of its hosts."""
    pairs = {pair.number: pair for pair in record.pairs}
    rows = [("pair", "server host", "load host", "run", "Ray's CPU", "servers")]
    for number, run in enumerate(record.runs, 1):
        pair = pairs[run.pair]
        shares = [f"{gate.role} {numbers.percent(gate.reading, 2)}" for gate in run.gates]
        failed = "" if all(gate.passed for gate in run.gates) else " !"
        rows.append(
            (
                str(run.pair),
                *_hosts(pair),
                str(number),
                (", ".join(shares) or numbers.NONE) + failed,
                ", ".join(map(one_line, run.servers)) or "the shared ones alone",
            )
        )
    return rows


def _hosts(pair: PairRecord) -> tuple[str, str]:
    server, load = (f"{host.name} {host.address}" for host in (pair.server, pair.load))
    return one_line(server), "the same" if load == server else one_line(load)


def _remarks(combined: Combined) -> Iterator[str]:
    record = combined.record
    yield f"on every pair: {', '.join(map(one_line, record.shared))}, and the controls"
    for number, run in enumerate(record.runs, 1):
        if run.bundle is None:
            yield f"! run {number} stored nothing: {one_line(run.error or 'a host died')}"
        elif not run.counts:
            most = numbers.percent(run.gates[0].threshold)
            yield f"! run {number} is not ranked: Ray used more than {most} of a host's CPUs"
        elif not run.gates:
            yield f"! run {number}: Ray's CPU time is not known"
    for pair in record.pairs:
        if pair.lost is not None:
            yield f"! pair {pair.number} was lost: {one_line(pair.lost)}"
    if machines := _crowded(record):
        yield f"! several pairs share a machine and disturb each other: {', '.join(machines)}"
    for host in record.left_over:
        yield f"! host {one_line(host.name)} had no partner, and ran nothing"
    for name, fault in combined.faults.items():
        yield f"! {one_line(name)} did not run: {one_line(fault)}"
    if record.given_up:
        yield f"! not measured: {', '.join(map(one_line, record.given_up))}"


def _crowded(record: ClusterRecord) -> list[str]:
    """The addresses that more than one pair uses."""
    used = [address for p in record.pairs for address in {p.server.address, p.load.address}]
    return sorted({address for address in used if used.count(address) > 1})


def _interval(ratio: RatioInterval, scale: float) -> str:
    if not numbers.is_known(ratio.low, ratio.high):
        return numbers.UNKNOWN
    return f"[{scale * ratio.low:.1f}, {scale * ratio.high:.1f}]"


def _numbers(pairs: Sequence[int]) -> str:
    return ", ".join(map(str, pairs))


def _percent(record: ClusterRecord) -> str:
    return numbers.percent(record.confidence, 0)


def _lines(rows: Table, right: Sequence[int] = ()) -> list[str]:
    """The rows in columns, those in `right` aligned there."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
