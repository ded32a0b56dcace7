"""HttpArena: `site/data/PROFILE.json`, a list of entries at one profile."""

import re
from collections.abc import Iterator
from typing import Any

from deadheat.boards.adapters.values import Value
from deadheat.boards.model import Measurement

BOARD = "httparena"
CPUS = 64  # its page on hardware: most profiles give the server 64 threads of the processor
_AT = re.compile(r"(.+?)-(\d+)")


def reads(content: Any) -> bool:
    """Whether a JSON value is a file of this board."""
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, dict) and {"framework", "rps", "avg_latency"} <= first.keys()


def family_of(profile: str) -> str:
    """The test of a profile: `baseline` of `baseline-4096`."""
    match = _AT.fullmatch(profile)
    return match[1] if match else profile


def depth_of(profile: str) -> int:
    """Its page on the score: 16 requests in a batch for each connection."""
    return 16 if family_of(profile) == "pipelined" else 1


def read(content: Value, stem: str, edition: str) -> Iterator[Measurement]:
    profile = stem.removeprefix(f"{BOARD}-")
    for row in content.items():
        depth = row.key("pipeline").count_if_any() or 1
        statuses = [row.key(f"status_{kind}xx").count_if_any() for kind in (2, 3, 4, 5)]
        unreadable: list[str] = []
        mean_s = row.key("avg_latency").latency_if_any(unreadable)
        p99_s = row.key("p99_latency").latency_if_any(unreadable)
        bad = [count for count in statuses[2:] if count is not None]
        yield Measurement(
            profile=profile,
            family=family_of(profile),
            entry=row.key("framework").name(),
            edition=edition,
            rate_per_s=row.key("rps").number(),
            connections=row.key("connections").count_if_any(),
            language=row.key("language").name_if_any(),
            mean_s=mean_s,
            p99_s=p99_s,
            duration_s=row.key("duration").seconds_if_any(),
            client_threads=row.key("threads").count_if_any(),
            cpus_used=row.key("cpu").cpus_if_any(),
            ok=statuses[0],
            failed=sum(bad) if bad else None,
            depth=max(depth, depth_of(profile)),
            unreadable=tuple(unreadable),
        )
