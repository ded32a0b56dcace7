"""Differences in how two runs were made, which may explain different results."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deadheat.foreign_text import one_line
from deadheat.protocol import StoredProtocol
from deadheat.report.model.view import RunView

HASH_CHARS = 12
PASSING = ("load_average",)  # changes from minute to minute; the gates watch it


@dataclass(frozen=True, slots=True)
class Difference:
    """One item with its values in the first and in the second run."""

    what: str
    first: str
    second: str


def differences(first: RunView, second: RunView) -> tuple[Difference, ...]:
    """Machine, versions, protocol and contenders, in this order."""
    pairs = [
        ("deadheat", first.deadheat_version, second.deadheat_version),
        ("load generator", first.generator_version, second.generator_version),
        *_hosts(first, second),
        *_mappings("protocol", *(_without_workloads(view.protocol) for view in (first, second))),
        *_workloads(first, second),
        *_contenders(first, second),
    ]
    return tuple(
        Difference(what, _shown(before), _shown(after))
        for what, before, after in pairs
        if before != after
    )


def _hosts(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    hosts = [{host.role: host for host in view.hosts} for view in (first, second)]
    for role in sorted(hosts[0].keys() & hosts[1].keys()):
        before, after = (by_role[role] for by_role in hosts)
        yield f"{role} CPUs", list(before.cpus), list(after.cpus)
        if role == "server":
            yield from _mappings(
                "machine", before.fingerprint.to_json(), after.fingerprint.to_json()
            )


def _mappings(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Every leaf that differs, by its path."""
    for key in dict.fromkeys([*first, *second]):
        before, after, path = first.get(key), second.get(key), f"{name} {key}"
        if key in PASSING:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _mappings(path, before, after)
        else:
            yield path, before, after


def _without_workloads(protocol: StoredProtocol) -> Mapping[str, Any]:
    return protocol.model_dump(mode="json", exclude={"workloads"})


def _workloads(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    """Their names, and a hash of each that both have: its requests may have changed."""
    yield "workloads", list(first.workloads), list(second.workloads)
    hashes = [_hashes(view.protocol) for view in (first, second)]
    for name in hashes[0].keys() & hashes[1].keys():
        yield f"workload {name}", hashes[0][name], hashes[1][name]


def _hashes(protocol: StoredProtocol) -> dict[str, str]:
    return {
        each.name: hashlib.sha256(
            json.dumps(each.model_dump(), sort_keys=True).encode()
        ).hexdigest()[:HASH_CHARS]
        for each in protocol.workloads
    }


def _contenders(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    others = {contender.name: contender for contender in second.contenders}
    for contender in first.contenders:
        other = others.pop(contender.name, None)
        if other is None:
            yield contender.name, "present", "absent"
            continue
        yield f"{contender.name} version", contender.version, other.version
        yield f"{contender.name} workers", contender.workers, other.workers
        if contender.build and other.build:
            yield f"{contender.name} build", contender.build.key, other.build.key
    yield from ((name, "absent", "present") for name in others)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return one_line(text, 60)
