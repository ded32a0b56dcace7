from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from deadheat.catalog.manifest import Strict
from deadheat.catalog.toml_lines import FileFault, key_lines, line_of, read_toml


class Part(Strict):
    size: int


class Whole(Strict):
    title: str
    part: Part | None = None
    parts: list[Part] | None = None
    either: int | bool = 0


def faults_of(path: Path) -> list[str]:
    with pytest.raises(FileFault) as caught:
        read_toml(path, Whole)
    return str(caught.value).removeprefix(f"{path}:").split(f"\n{path}:")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "whole.toml"


def test_reads_a_valid_file(path: Path) -> None:
    path.write_text('title = "a"\n[part]\nsize = 1\n')
    assert read_toml(path, Whole) == Whole(title="a", part=Part(size=1))


def test_reports_all_faults_in_order_of_lines(path: Path) -> None:
    path.write_text('color = "red"\n\n[part]\nsize = "big"\n[[parts]]\nsize = 1\n[[parts]]\n')
    assert faults_of(path) == [
        "1: color: unknown key",
        "1: title: missing",
        "4: part.size: expected a valid integer",
        "7: parts.1.size: missing",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("either = 'a'", "2: either: expected a valid integer, or expected a valid boolean"),
        ("part = { size = 1, weight = 2 }", "2: part.weight: unknown key"),
        ("part = 'a", "2: "),
        ("title = 2", "2: "),
        ("part = [1,\n2", "3: "),
        ("# caf\udce9", "2: expected UTF-8"),
    ],
)
def test_a_fault_names_its_line(path: Path, text: str, fault: str) -> None:
    path.write_bytes(f'title = "a"\n{text}\n'.encode(errors="surrogateescape"))
    (found,) = faults_of(path)
    assert found.startswith(fault)


def test_unreadable_file_is_a_fault(path: Path) -> None:
    with pytest.raises(FileFault, match="cannot be read: No such file"):
        read_toml(path, Whole)


def test_multi_line_array_is_not_a_table_header() -> None:
    """Regression: lines such as `["a", "b"],` were taken for table headers."""
    text = '[build]\nsteps = [\n    ["a"],\n    ["b = 1"],\n]\nenv = { A = "1" }\n'
    lines = key_lines(text)
    assert lines[("build", "env")] == 6
    assert set(lines) == {(), ("build",), ("build", "steps"), ("build", "env")}


def test_multi_line_string_has_no_keys() -> None:
    assert key_lines('about = """\nkey = 1\n[table]\n"""\nnext = 1\n')[("next",)] == 5


def test_missing_key_gets_the_line_of_its_table() -> None:
    lines = key_lines("a = 1\n[b]\nc = 2\n")
    assert line_of(lines, ("b", "c", 0)) == 3
    assert line_of(lines, ("b", "missing")) == 2
    assert line_of(lines, ("nowhere",)) == 1


class Several(Strict):
    parts: Annotated[tuple[Part, ...], Field(min_length=1, strict=False)]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("[[parts]]\n[[parts]]\n", ["1: parts.0.size: missing", "2: parts.1.size: missing"]),
        ("parts = []", ["1: parts: Tuple should have at least 1 item after validation, not 0"]),
    ],
)
def test_bug_a_fault_of_an_item_was_also_one_of_an_empty_list(
    path: Path, text: str, faults: list[str]
) -> None:
    path.write_text(text)
    with pytest.raises(FileFault) as caught:
        read_toml(path, Several)
    assert str(caught.value).removeprefix(f"{path}:").split(f"\n{path}:") == faults
