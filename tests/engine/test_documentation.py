"""The engine's pages document exactly the classes, kinds, limits and keys that exist."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.runs import run_engine

ROOT = Path(__file__).parents[2]
PAGES = ("engine-classes.md", "engine-document.md")
PAGE = "\n".join((ROOT / "docs" / name).read_text() for name in PAGES)
SOURCE = ROOT / "engine" / "src"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """A document with every key: that of a failed preflight."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        failed, exit_code = run_engine("http://{}:{}/".format(*closed.getsockname()))
    assert exit_code == 3
    return failed


def rows_under(heading: str) -> list[str]:
    """The names in the first column of the table with this heading."""
    _, _, rest = PAGE.partition(f"\n| {heading} |")
    table = rest.partition("\n\n")[0].splitlines()[2:]
    return [name for row in table for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def keys(part: object) -> Iterator[str]:
    """All keys of a document, except those of `config`, which are options."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield key
            if key not in ("config", "classes"):
                yield from keys(value)


def test_every_class_is_documented(document: dict[str, Any]) -> None:
    assert sorted(rows_under("class")) == sorted(document["classes"])


def test_every_top_level_key_is_documented(document: dict[str, Any]) -> None:
    assert sorted(rows_under("key")) == sorted(document)


def test_every_latency_is_documented(document: dict[str, Any]) -> None:
    _, _, latencies = PAGE.partition("**`latency`**")
    named = re.findall(r"^\| `(\w+)` \|", latencies.partition("**`connections`**")[0], re.M)
    assert sorted(named) == sorted(document["latency"])


def test_every_key_of_the_parts_is_named(document: dict[str, Any]) -> None:
    quantiles = {"count", "min", "mean", "stdev", "max", "p50", "p75", "p90", "p99"}
    quantiles |= {"p99_9", "p99_99"}
    missing = [key for key in keys(document) if f"`{key}`" not in PAGE and key not in quantiles]
    assert not missing


def test_every_malformed_kind_is_documented() -> None:
    _, _, kinds = (SOURCE / "classes.rs").read_text().partition("MalformedKind {")
    names = re.findall(r'= "(\w+)"', kinds.partition("\n}")[0])
    assert sorted(rows_under("malformed kind")) == sorted(names)


def test_every_limit_is_documented() -> None:
    limits, _, _ = (SOURCE / "limits.rs").read_text().partition("#[cfg(test)]")
    codes = re.findall(r'(?:\(\s*|above\(|code: )"(\w+)"', limits)
    assert sorted(rows_under("code")) == sorted(codes)
    schema = json.loads((ROOT / "docs" / "engine-schema.json").read_text())
    assert sorted(schema["$defs"]["limit"]["properties"]["code"]["enum"]) == sorted(codes)
