"""the-benchmarker/web-frameworks: `data.json` and `data.min.json`, one value for each metric."""

from collections.abc import Iterator
from typing import Any

from deadheat.boards.adapters.values import Value
from deadheat.boards.model import Measurement

BOARD = "the-benchmarker"
IN_MICROSECONDS = "percentile_50"  # its older editions name it so, and have wrk's microseconds
ERRORS = (
    "request_timeouts",
    "socket_connection_errors",
    "socket_read_errors",
    "socket_write_errors",
)


def reads(content: Any) -> bool:
    """Whether a JSON value is a file of this board."""
    return isinstance(content, dict) and {"metrics", "frameworks"} <= content.keys()


def edition_of(content: Value) -> str | None:
    return content.key("updated_at").name_if_any()


def cpus_of(content: Value) -> int | None:
    hardware = content.key("hardware")
    return None if hardware.content is None else hardware.key("cpus").count_if_any()


def read(content: Value, edition: str) -> Iterator[Measurement]:
    names: dict[int, tuple[str, str | None, str | None]] = {}
    for framework in content.key("frameworks").items():
        entry = framework.key("label").name()
        version = framework.key("version").name_if_any()
        language = framework.key("language").name_if_any()
        names[int(framework.key("id").number())] = (entry, language, version)
    metrics: dict[tuple[int, int], dict[str, Value]] = {}
    for metric in content.key("metrics").items():
        place = (int(metric.key("framework_id").number()), int(metric.key("level").number()))
        if place[0] not in names:
            raise metric.key("framework_id").unlike("the id of a framework")
        metrics.setdefault(place, {})[metric.key("label").name()] = metric.key("value")
    is_older = any(IN_MICROSECONDS in values for values in metrics.values())
    unit_s, duration_unit_s = (1e-6, 1e-6) if is_older else (1.0, 1e-3)
    mark = "_" if is_older else ""
    for (number, connections), values in metrics.items():
        if (rate := _of(values, "total_requests_per_s")) is None:
            continue
        entry, language, version = names[number]
        errors = [count for label in ERRORS if (count := _of(values, label)) is not None]
        failed, duration = _of(values, "http_errors"), _of(values, "duration_ms")
        requests = _of(values, "total_requests")
        mean_s, p50_s, p75_s, p90_s, p99_s = (
            None if (latency := _of(values, label)) is None else unit_s * latency
            for label in ("average_latency", *(f"percentile{mark}{n}" for n in (50, 75, 90, 99)))
        )
        yield Measurement(
            profile=f"{connections} connections",
            family="requests",
            entry=entry,
            edition=edition,
            rate_per_s=rate,
            connections=connections,
            language=language,
            mean_s=mean_s,
            p50_s=p50_s,
            p75_s=p75_s,
            p90_s=p90_s,
            p99_s=p99_s,
            duration_s=None if duration is None else round(duration_unit_s * duration),
            requests=None if requests is None else round(requests),
            failed=None if failed is None else round(failed),
            errors=round(sum(errors)) if errors else None,
            source=version,
        )


def _of(values: dict[str, Value], label: str) -> float | None:
    return values[label].number_if_any() if label in values else None
