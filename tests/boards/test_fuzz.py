"""Any change of a board's file gives an audit or an error with its place, and no traceback."""

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadheat.boards.adapters.read import read_boards
from deadheat.boards.audit import audit_boards
from deadheat.boards.model import LiveBoard
from deadheat.boards.page import FORMATS, write
from deadheat.errors import DeadheatError
from tests.boards.made import Made, as_csv, spread_rates
from tests.boards.test_adapters import ARENA, BENCHMARKER, TECHEMPOWER

ARENA_ROWS = [{**ARENA, "framework": f"entry-{n}", "rps": 1000 * (n + 1)} for n in range(12)]
FILES = {
    "baseline-512.json": ARENA_ROWS,
    "data.min.json": BENCHMARKER,
    "results.json": TECHEMPOWER,
}
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=True),
    st.sampled_from(["", "-1", "1e300", "9e999ms", "5%", "nan", "0", "0us", "x" * 300, "\x00"]),
    st.just([]),
    st.just({}),
)


def audited(name: str, text: str) -> None:
    """Audit a file in every format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        rejection = ""
        boards: tuple[LiveBoard, ...] = ()
        try:
            boards = read_boards([path])
        except DeadheatError as error:
            rejection = str(error)
        if rejection:
            assert name in rejection
            return
        readings = audit_boards(boards)
        for format_name in FORMATS:
            assert write(readings, format_name)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of each value in a document."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return [path]
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_changed_value_is_an_error_with_its_place_or_no_error(
    name: str, data: st.DataObject
) -> None:
    document = {"whole": copy.deepcopy(FILES[name])}
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(document)[1:]))
        holder: Any = document
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = data.draw(VALUES)
    audited(name, json.dumps(document["whole"]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2000), st.sampled_from([",", "\n", '"', "0", "-", "e9", "\x00", "é", ""]))
def test_a_changed_csv_is_an_error_with_its_place_or_no_error(at: int, put: str) -> None:
    text = as_csv(Made(spread_rates(25)).board())
    audited("made.csv", text[:at] + put + text[at + 1 :])


def test_equal_rates_have_a_picture() -> None:
    audited("equal.csv", "entry,rate_per_s\n" + "".join(f"entry-{n},1000\n" for n in range(30)))
