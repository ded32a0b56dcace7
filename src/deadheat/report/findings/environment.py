"""In what two runs were not made alike: what may explain a difference between them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deadheat.report import format
from deadheat.report.model.view import RunView

PASSING = ("load_average",)  # changes from minute to minute; the gates watch it


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was so in the first run and otherwise in the second."""

    what: str
    first: str
    second: str


def differences(first: RunView, second: RunView) -> tuple[Difference, ...]:
    """Machine, versions, protocol and contenders, in this order."""
    pairs = [
        ("deadheat", first.deadheat_version, second.deadheat_version),
        ("load generator", first.generator_version, second.generator_version),
        *_hosts(first, second),
        *_mappings("protocol", first.protocol, second.protocol),
        *_contenders(first, second),
    ]
    return tuple(
        Difference(what, _shown(one), _shown(other)) for what, one, other in pairs if one != other
    )


def _hosts(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    hosts = [{host.role: host for host in view.hosts} for view in (first, second)]
    for role in sorted(hosts[0].keys() & hosts[1].keys()):
        one, other = (by_role[role] for by_role in hosts)
        yield f"{role} CPUs", list(one.cpus), list(other.cpus)
        if role == "server":
            yield from _mappings("machine", one.fingerprint, other.fingerprint)


def _mappings(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Every leaf that the two do not share, by its path."""
    for key in dict.fromkeys([*first, *second]):
        one, other, path = first.get(key), second.get(key), f"{name} {key}"
        if key in PASSING:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _mappings(path, one, other)
        else:
            yield path, one, other


def _contenders(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    others = {one.name: one for one in second.contenders}
    for one in first.contenders:
        other = others.pop(one.name, None)
        if other is None:
            yield one.name, "raced", "not there"
            continue
        yield f"{one.name} version", one.version, other.version
        yield f"{one.name} workers", one.workers, other.workers
        if one.build and other.build:
            yield f"{one.name} build", one.build.key, other.build.key
    yield from ((name, "not there", "raced") for name in others)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return format.plain(text, 60)
