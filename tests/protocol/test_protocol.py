"""Protocols and published figures: read strictly, and amended by the command line."""

import json
from pathlib import Path

import pytest

from deadheat.catalog import FileFault
from deadheat.errors import DeadheatError
from deadheat.protocol import (
    AloneProtocol,
    Fixed,
    SliceProtocol,
    amend,
    load_as,
    load_protocol,
    protocol_names,
    protocol_of,
)
from deadheat.protocol.figures import PublishedFigures, read_figures, shipped_figures

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


def test_bug_streams_of_a_connection_for_each_request_were_in_the_label(root: Path) -> None:
    def load(*closes: bool) -> dict[str, object]:
        workloads = tuple(
            {"name": f"w{n}", "about": "a", "close": close, "requests": ({"path": "/"},)}
            for n, close in enumerate(closes)
        )
        return {"workloads": workloads, "transports": ("h2c",), "streams": 10}

    small = load_protocol(root, "small")
    with pytest.raises(DeadheatError, match="streams = 10: a connection per request has one"):
        amend(small, load(True), {})
    mixed = amend(small, load(True, False), {})
    assert (mixed.only("w0:h2c").streams, mixed.only("w1:h2c").streams) == (1, 10)


def test_protocol_round_trips_through_json(root: Path) -> None:
    """The store keeps a protocol as JSON for reports."""
    protocol = load_protocol(HERE, str(root / "protocols/small.toml"))
    assert protocol == load_protocol(root, "small")
    assert protocol_of(json.loads(protocol.model_dump_json())) == protocol


@pytest.fixture
def kzmake() -> AloneProtocol:
    return load_as(HERE, "kzmake-2018", AloneProtocol)


@pytest.fixture
def landshark() -> AloneProtocol:
    return load_as(HERE, "landshark-2009", AloneProtocol)


def test_label_of_unchanged_replay_has_its_aggregate(kzmake: AloneProtocol) -> None:
    assert kzmake.label == "replay of kzmake-2018, best of 5"
    assert amend(kzmake, {}, {}) == kzmake


def test_scale_multiplies_durations_and_is_in_the_label(kzmake: AloneProtocol) -> None:
    scaled = amend(kzmake, {}, {}, scale=0.1)
    assert scaled.duration_s == 3
    assert scaled.timeout_s == kzmake.timeout_s  # a limit, not a duration
    assert scaled.label == "replay of kzmake-2018, best of 5, scaled 0.1"


def test_wrk_and_ab_get_whole_seconds(kzmake: AloneProtocol) -> None:
    assert amend(kzmake, {}, {}, scale=0.001).duration_s == 1
    assert amend(kzmake, {"generator": "engine"}, {}, scale=0.01).duration_s == pytest.approx(0.3)


def test_another_generator_drops_arguments_and_request_cap(landshark: AloneProtocol) -> None:
    assert (landshark.arguments, landshark.request_cap) == (("-r",), 50_000)
    changed = amend(landshark, {"generator": "engine"}, {})
    assert (changed.arguments, changed.request_cap) == ((), None)
    assert changed.label.endswith(", engine instead of ab")


def test_request_cap_stays_until_it_is_lifted(landshark: AloneProtocol) -> None:
    assert amend(landshark, {}, {}).request_cap == 50_000
    lifted = amend(landshark, {}, {}, lift_cap=True)
    assert lifted.request_cap is None
    assert lifted.deviations == ("without the cap of 50,000 requests",)


def test_a_scale_that_leaves_a_level_without_a_result_is_refused(landshark: AloneProtocol) -> None:
    """At 20,000 connections, 33 of 33 trials of a replay scaled by 0.1 had no result."""
    with pytest.raises(DeadheatError, match="cannot open 20,000 connections in 1 s") as refused:
        amend(landshark, {}, {}, scale=0.1)
    assert refused.value.hint == (
        "leave it out with --connections 100,1000,10000, or omit --duration-scale"
    )
    kept = (100, 1000, 10_000)
    assert amend(landshark, {"connections": kept}, {}, scale=0.1).connections == kept


def test_replay_lists_every_change(kzmake: AloneProtocol) -> None:
    changed = amend(
        kzmake,
        {"connections": (10,), "threads": 1, "duration_s": 5.0, "keep_alive": False},
        {"repetitions": 2},
    )
    assert changed.deviations == (
        "10 connections instead of 10, 100, 1000",
        "1 load threads instead of 4",
        "a connection per request",
        "5 s instead of 30 s",
        "published with 5 repetitions",
    )


def test_protocol_without_origin_lists_no_deviation() -> None:
    changed = amend(load_protocol(HERE, "settle"), {"duration_s": 1.0}, {})
    assert changed.label == "settle"


@pytest.mark.parametrize(
    ("key", "value"), [("invocations", 2), ("budget_s", 60.0), ("margin", 0.05)]
)
def test_a_replay_has_no_starts_budget_or_margin(
    kzmake: AloneProtocol, key: str, value: float
) -> None:
    with pytest.raises(DeadheatError, match="runs one server after the other") as caught:
        amend(kzmake, {}, {key: value})
    assert caught.value.hint == f"omit --{key.removesuffix('_s')}"


@pytest.mark.parametrize("name", ["settle", "quick", "long"])
def test_a_race_needs_our_engine(name: str) -> None:
    with pytest.raises(DeadheatError, match=f"--generator wrk: protocol {name} needs our engine"):
        amend(load_protocol(HERE, name), {"generator": "wrk"}, {})
    assert amend(load_protocol(HERE, name), {"generator": "engine"}, {}).name == name


def test_repetitions_replace_the_budget_of_a_race_to_settle() -> None:
    settle = load_as(HERE, "settle", SliceProtocol)
    stopping = amend(settle, {}, {"kind": "fixed", "repetitions": 5}).stopping
    assert isinstance(stopping, Fixed)
    assert (stopping.repetitions, stopping.invocations) == (5, settle.stopping.invocations)
    assert stopping.time_limit_s == float("inf")
    with pytest.raises(DeadheatError, match="--budget: protocol settle ends after 5 repetitions"):
        amend(settle, {}, {"kind": "fixed", "repetitions": 5, "budget_s": 60.0})


TABLE = """\
row,connections,rate_per_s,precision,source
Alpha,10,1234.50,0.01,a page
Alpha,100,nan,0.01,a page
Beta,10,99,1,another page
"""


def read(folder: Path, text: str) -> PublishedFigures:
    path = folder / "blog.csv"
    path.write_text(text)
    return read_figures(path)


@pytest.mark.parametrize("path", sorted((HERE / "published").glob("*.csv")), ids=lambda p: p.stem)
def test_shipped_figures_have_a_source_and_their_printed_precision(path: Path) -> None:
    for figure in read_figures(path).figures:
        assert figure.source
        if figure.rate_per_s is not None:
            digits = figure.rate_per_s / figure.precision
            assert digits == pytest.approx(round(digits), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "rows", "levels"),
    [
        ("kzmake-2018", 33, (10, 100, 1000)),
        ("woo-2016", 13, (10, 100)),
        ("landshark-2009", 10, (100, 1000, 10_000, 20_000)),
        ("costajob-2020", 9, (100,)),
    ],
)
def test_shipped_tables_are_complete(name: str, rows: int, levels: tuple[int, ...]) -> None:
    table = shipped_figures(HERE, name)
    assert (len(table.rows), table.levels) == (rows, levels)
    assert len(table.figures) == rows * len(levels)


def test_reads_a_table(tmp_path: Path) -> None:
    table = read(tmp_path, TABLE)
    assert (table.name, table.rows, table.levels) == ("blog", ("Alpha", "Beta"), (10, 100))
    assert table.sources == ("a page", "another page")
    assert table.at(10)["Alpha"].rate_per_s == 1234.5
    assert table.at(100)["Alpha"].rate_per_s is None


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("precision,", "precise,", r":1: missing column precision, unknown column 'precise'"),
        (",10,1234", ",ten,1234", r":2: connections: expected a number >= 1, got 'ten'"),
        (",10,1234", ",1.5,1234", r":2: connections: expected a whole number, got 1\.5"),
        ("1234.50", "fast", r":2: rate_per_s: expected a number >= 0, got 'fast'"),
        ("99,1,", "-99,1,", r":4: rate_per_s: expected a number >= 0, got '-99'"),
        ("0.01,a page\nAlpha", ",a page\nAlpha", r":2: precision: expected a number"),
        (",another page", ",", r":4: source: expected a text"),
        (",another page", "", r":4: expected 5 columns"),
        (",another page", ",a, b", r":4: expected 5 columns"),
        ("Beta,10", "Alpha,10", r":4: 'Alpha' at 10 is in line 2 too"),
        (TABLE.partition("\n")[2], "", r":2: expected a figure, but the file ends"),
    ],
)
def test_a_fault_of_figures_names_its_line(
    tmp_path: Path, before: str, after: str, fault: str
) -> None:
    with pytest.raises(DeadheatError, match=r"blog\.csv" + fault):
        read(tmp_path, TABLE.replace(before, after, 1))


def test_rejects_a_missing_table(tmp_path: Path) -> None:
    with pytest.raises(DeadheatError, match="cannot be read: No such file") as caught:
        read_figures(tmp_path / "blog.csv")
    assert caught.value.hint == "check the path"
    with pytest.raises(DeadheatError, match=r"no published figures .*none\.csv"):
        shipped_figures(HERE, "none")
