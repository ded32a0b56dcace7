import json
from pathlib import Path

import pytest

from deadheat.catalog import FileFault
from deadheat.errors import DeadheatError
from deadheat.protocol import (
    Fixed,
    SliceProtocol,
    amend,
    load_as,
    load_protocol,
    protocol_names,
    protocol_of,
)

HERE = Path(__file__).resolve().parents[2]
SMALL = """\
name = "small"
about = "The smallest protocol."
kind = "slices"
connections = [10]
duration_s = 1

[warmup]
kind = "none"

[stopping]
kind = "fixed"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "protocols").mkdir()
    write(tmp_path, SMALL)
    return tmp_path


def write(root: Path, text: str, name: str = "small") -> None:
    (root / "protocols" / f"{name}.toml").write_text(text)


@pytest.mark.parametrize("name", protocol_names(HERE))
def test_reads_every_shipped_protocol(name: str) -> None:
    assert load_protocol(HERE, name).name == name


def test_unknown_protocol_suggests_the_nearest(root: Path) -> None:
    with pytest.raises(DeadheatError, match=r"--protocol smell: no file .*smell\.toml") as caught:
        load_protocol(root, "smell")
    assert caught.value.hint == "did you mean small?"
    with pytest.raises(DeadheatError) as caught:
        load_protocol(root, "zzz")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("available: ")
    assert "small" in caught.value.hint


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('"small"', '"tall"', r":1: name: expected the name of the file, 'small'"),
        ("[10]", "[10, 0]", r":4: connections\.1: expected greater than or equal to 1"),
        ("[10]", "[]", r":4: connections: "),
        ("duration_s = 1", "duration = 1", r":1: duration_s: missing"),
        ("duration_s = 1", "duration = 1", r":5: duration: unknown key"),
        ('"none"', '"some"', r":8: warmup\.kind: expected 'none', 'fixed' or 'steady'"),
        ('"fixed"', '"settle"\nmargin = 3', r":12: stopping\.margin: expected less than 0\.5"),
    ],
)
def test_fault_names_its_line(root: Path, before: str, after: str, fault: str) -> None:
    write(root, SMALL.replace(before, after))
    with pytest.raises(FileFault, match=r"small\.toml" + fault):
        load_protocol(root, "small")


@pytest.mark.parametrize(
    ("kind", "line", "fault"),
    [
        ("slices", 'aggregate = "best"', "aggregate: unknown key"),
        ("slices", 'generator = "wrk"', "generator: expected 'engine'"),
        ("slices", 'restart = "level"', "restart: unknown key"),
        ("alone", "at_once = 2", "at_once: unknown key"),
        ("search", "request_cap = 10", "request_cap: unknown key"),
        ("alone", "request_cap = 10", "request_cap needs generator = 'ab': engine has none"),
        ("settle", "awake = true", "kind: expected 'slices', 'rate', 'alone' or 'search'"),
    ],
)
def test_each_kind_has_its_own_keys(root: Path, kind: str, line: str, fault: str) -> None:
    write(root, SMALL.replace('kind = "slices"', f'kind = "{kind}"\n{line}'))
    with pytest.raises(FileFault, match=fault):
        load_protocol(root, "small")


def test_a_protocol_without_a_kind_is_refused(root: Path) -> None:
    write(root, SMALL.replace('kind = "slices"\n', ""))
    with pytest.raises(FileFault, match=":1: kind: missing"):
        load_protocol(root, "small")


def test_amend_changes_only_the_given_values(root: Path) -> None:
    protocol = load_as(root, "small", SliceProtocol)
    amended = amend(
        protocol, {"connections": (1, 2), "duration_s": None}, {"repetitions": 7, "margin": None}
    )
    assert amended.connections == (1, 2)
    assert isinstance(amended.stopping, Fixed)
    assert amended.stopping.repetitions == 7
    assert amended == amend(
        protocol.model_copy(update={"connections": (1, 2)}), {}, {"repetitions": 7}
    )
    assert protocol == load_protocol(root, "small")


def test_amend_rejects_invalid_values(root: Path) -> None:
    """Regression: the message was that of pydantic, with a link to its site."""
    with pytest.raises(DeadheatError) as caught:
        amend(load_protocol(root, "small"), {"threads": 0}, {})
    assert str(caught.value) == (
        "protocol small with these options: threads: expected greater than or equal to 1"
    )


def test_protocol_round_trips_through_json(root: Path) -> None:
    """The store keeps a protocol as JSON for reports."""
    protocol = load_protocol(HERE, str(root / "protocols/small.toml"))
    assert protocol == load_protocol(root, "small")
    assert protocol_of(json.loads(protocol.model_dump_json())) == protocol
