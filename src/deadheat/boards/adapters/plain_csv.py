"""A CSV of any board: a row for each measurement, with the columns of `COLUMNS`."""

import csv
from collections.abc import Iterator, Mapping

from deadheat.boards.adapters import httparena
from deadheat.boards.adapters.values import Value
from deadheat.boards.model import Measurement
from deadheat.errors import DeadheatError

# The first name is ours; a board's own export may have another of these.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "entry": ("framework", "row", "server"),
    "rate_per_s": ("requests_per_s", "rps"),
    "connections": (),
    "profile": ("test",),
    "edition": ("committed", "date"),
    "language": (),
    "source": ("entry_tree", "version"),
    "latency_mean": ("latency_avg", "latency_avg_s"),
    "latency_p50": ("latency_p50_s",),
    "latency_p75": ("latency_p75_s",),
    "latency_p90": ("latency_p90_s",),
    "latency_p99": ("latency_p99_s",),
    "duration": (),
    "client_threads": ("threads",),
    "cpu": (),
    "requests": (),
    "ok": ("status_2xx",),
    "failed_4xx": ("status_4xx",),
    "failed_5xx": ("status_5xx",),
    "errors": (),
    "depth": ("pipeline",),
}
REQUIRED = ("entry", "rate_per_s")
COLUMNS_MAX = 100


def read(path: str, text: str, stem: str) -> Iterator[Measurement]:
    """Other columns are left out. Raises `DeadheatError` with file, line and column."""
    reader = csv.DictReader(text.splitlines(), restkey="", strict=True)
    try:
        columns = _columns(path, [*(reader.fieldnames or ())])
        for row in reader:
            place = f"{path}:{reader.line_num}"
            if "" in row or None in row.values():
                raise DeadheatError(f"{place}: expected {len(reader.fieldnames or ())} columns")
            yield _measurement(
                {ours: Value(f"{place}: {name}", row[name]) for ours, name in columns.items()},
                place,
                stem,
            )
    except csv.Error as error:
        raise DeadheatError(f"{path}:{reader.line_num}: {error}") from error


def _columns(path: str, header: list[str]) -> dict[str, str]:
    """Our name -> the name in the file."""
    if len(header) > COLUMNS_MAX or len({*header}) < len(header):
        raise DeadheatError(f"{path}:1: expected at most {COLUMNS_MAX} columns, each once")
    columns = {
        ours: name
        for ours, others in COLUMNS.items()
        if (name := next((each for each in (ours, *others) if each in header), None)) is not None
    }
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise DeadheatError(
            f"{path}:1: missing column {missing[0]}",
            f"the columns are {', '.join(COLUMNS)}; only {' and '.join(REQUIRED)} are required",
        )
    return columns


def _measurement(values: Mapping[str, Value], place: str, stem: str) -> Measurement:
    def of(name: str) -> Value:
        return values.get(name, Value(place, None))

    connections = of("connections").count_if_any()
    profile = of("profile").name_if_any()
    if profile is None:
        profile = f"{connections} connections" if connections is not None else stem
        family, depth = "requests", 1
    else:
        family, depth = httparena.family_of(profile), httparena.depth_of(profile)
    statuses = [of(name).count_if_any() for name in ("failed_4xx", "failed_5xx")]
    bad = [count for count in statuses if count is not None]
    unreadable: list[str] = []
    mean_s, p50_s, p75_s, p90_s, p99_s = (
        of(f"latency_{name}").latency_if_any(unreadable)
        for name in ("mean", "p50", "p75", "p90", "p99")
    )
    return Measurement(
        profile=profile,
        family=family,
        entry=of("entry").name(),
        edition=of("edition").name_if_any() or stem,
        rate_per_s=of("rate_per_s").number(),
        connections=connections,
        language=of("language").name_if_any(),
        source=of("source").name_if_any(),
        mean_s=mean_s,
        p50_s=p50_s,
        p75_s=p75_s,
        p90_s=p90_s,
        p99_s=p99_s,
        duration_s=of("duration").seconds_if_any(),
        client_threads=of("client_threads").count_if_any(),
        cpus_used=of("cpu").cpus_if_any(),
        requests=of("requests").count_if_any(),
        ok=of("ok").count_if_any(),
        failed=sum(bad) if bad else None,
        errors=of("errors").count_if_any(),
        depth=of("depth").count_if_any() or depth,
        unreadable=tuple(unreadable),
    )
