from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.protocol.figures import PublishedFigures, read_figures, shipped_figures

HERE = Path(__file__).resolve().parents[2]
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
def test_fault_names_its_line(tmp_path: Path, before: str, after: str, fault: str) -> None:
    with pytest.raises(DeadheatError, match=r"blog\.csv" + fault):
        read(tmp_path, TABLE.replace(before, after, 1))


def test_rejects_a_missing_table(tmp_path: Path) -> None:
    with pytest.raises(DeadheatError, match="cannot be read: No such file") as caught:
        read_figures(tmp_path / "blog.csv")
    assert caught.value.hint == "check the path"
    with pytest.raises(DeadheatError, match=r"no published figures .*none\.csv"):
        shipped_figures(HERE, "none")
