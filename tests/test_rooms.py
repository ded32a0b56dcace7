"""The house as docs/architecture.md lays it out: an import never points back up its table."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "deadheat"
ROOMS = (
    *(
        "cli",
        "boards",
        "serve",
        "audit",
        "cluster",
        "report",
        "campaign",
        "measure",
        "store",
        "build",
        "protocol",
        "workload",
        "catalog",
    ),
    *("load", "host", "stats"),
)
REPORT_ROOMS = ("picture", "formats", "findings", "model")
LINES_MAX = 500
SQL = re.compile(
    r"\bSELECT\b.*|\b(?:INSERT|REPLACE) INTO\b.*|\bUPDATE \w+ SET\b.*|\bDELETE FROM\b.*"
    r"|\b(?:CREATE|DROP|ALTER) (?:TABLE|INDEX|VIEW|TRIGGER)\b.*|\bPRAGMA \w+.*"
)


def imports(path: Path) -> Iterator[str]:
    """The rooms that a file imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for parts in (name.split(".") for name in names):
            if parts[0] == "deadheat" and parts[1] in ROOMS:
                yield parts[1]


def test_every_room_has_its_place() -> None:
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == {*ROOMS}


def test_the_architecture_lists_every_room_in_order() -> None:
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text()
    assert tuple(re.findall(r"^\| `src/deadheat/(\w+)/` \|", page, re.MULTILINE)) == ROOMS


def test_no_import_points_back_up() -> None:
    upwards = [
        f"{path.relative_to(SOURCE)} imports {other}"
        for place, room in enumerate(ROOMS)
        for path in (SOURCE / room).rglob("*.py")
        for other in imports(path)
        if ROOMS.index(other) < place
    ]
    assert not upwards


def test_no_import_points_back_up_within_reports() -> None:
    upwards = [
        f"{path.relative_to(SOURCE)} imports {other}"
        for place, room in enumerate(REPORT_ROOMS)
        for path in (SOURCE / "report" / room).rglob("*.py")
        for other in REPORT_ROOMS[:place]
        if f"from deadheat.report.{other}" in path.read_text()
    ]
    assert not upwards


def test_no_file_is_too_long_to_be_read() -> None:
    longer = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if len(path.read_text().splitlines()) > LINES_MAX
    ]
    assert not longer


def sql_literals(path: Path) -> Iterator[str]:
    """The SQL statements in the string literals of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from SQL.findall(node.value)


def test_only_the_store_has_sql() -> None:
    elsewhere = [
        f"{path.relative_to(SOURCE)}: {statement}"
        for path in SOURCE.rglob("*.py")
        if SOURCE / "store" not in path.parents
        for statement in sql_literals(path)
    ]
    assert not elsewhere
    assert any(True for path in (SOURCE / "store").glob("*.py") for _ in sql_literals(path))


def test_each_class_has_a_name_of_its_own() -> None:
    """`Level` was five classes, and forty other names were two."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
