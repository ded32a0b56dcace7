"""The house as docs/architecture.md lays it out: an import never points back up its table.

Patterns find the places in question, and only files with such a place are parsed: to parse all of
them takes seconds.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "deadheat"
SOURCES = {
    path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(SOURCE.rglob("*.py"))
}
ROOMS = (
    *("cli", "boards", "serve", "edition", "audit", "cluster", "report", "campaign", "measure"),
    *("store", "build", "protocol", "workload", "catalog", "load", "host", "stats"),
)
REPORT_ROOMS = ("picture", "formats", "findings", "model")
LINES_MAX = 500
IMPORT = re.compile(
    r"^ *(?:from|import) deadheat\.([\w.]+)|^ *from deadheat import (\([^)]*\)|.+)", re.M
)
CLASS = re.compile(r"^ *class (\w+)", re.M)
SQL = re.compile(
    r"\bSELECT\b.*|\b(?:INSERT|REPLACE) INTO\b.*|\bUPDATE \w+ SET\b.*|\bDELETE FROM\b.*"
    r"|\b(?:CREATE|DROP|ALTER) (?:TABLE|INDEX|VIEW|TRIGGER)\b.*|\bPRAGMA \w+.*"
)
PRINTING = ("print", "click.echo", "click.secho", "Console", "sys.stdout.write")
MAY_PRINT = (
    *("output.py", "console.py", "host/batch.py", "load/pooling.py"),
    *("host/agent/command.py", "host/agent/requests.py"),
)


def upwards(rooms: tuple[str, ...], above: str = "") -> list[str]:
    """The imports of a room from one that stands before it; all are below the room `above`."""
    places = {f"{above}{room}": place for place, room in enumerate(rooms)}
    depth = above.count("/") + 1

    def place(path: str) -> int | None:
        return places.get("/".join(path.split("/")[:depth]))

    return [
        f"{path} imports {name}"
        for path, text in SOURCES.items()
        if (own := place(path)) is not None
        for dotted, names in IMPORT.findall(text)
        for name in ([dotted] if dotted else re.findall(r"\w+", names))
        if (other := place(name.replace(".", "/"))) is not None and other < own
    ]


def test_every_room_has_its_place() -> None:
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == {*ROOMS}


def test_the_architecture_lists_every_room_in_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert tuple(re.findall(r"^\| `src/deadheat/(\w+)/` \|", page, re.MULTILINE)) == ROOMS


def test_no_import_points_back_up() -> None:
    assert upwards(ROOMS) == []
    assert upwards(REPORT_ROOMS, "report/") == []
    assert len(upwards(ROOMS[::-1])) > 100, "without imports the rule above would hold too"


def test_no_file_is_too_long_to_be_read() -> None:
    longer = [path for path, text in SOURCES.items() if len(text.splitlines()) > LINES_MAX]
    assert not longer


def sql_literals(text: str) -> Iterator[str]:
    """The SQL statements in the string literals of a file."""
    for node in ast.walk(ast.parse(text)) if SQL.search(text) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from SQL.findall(node.value)


def test_only_the_store_has_sql() -> None:
    elsewhere = [
        f"{path}: {statement}"
        for path, text in SOURCES.items()
        if not path.startswith("store/")
        for statement in sql_literals(text)
    ]
    assert not elsewhere
    assert [*sql_literals(SOURCES["store/schema.py"])]


def test_each_class_has_a_name_of_its_own() -> None:
    """`Level` was five classes, and forty other names were two."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in SOURCES.items():
        for name in CLASS.findall(text):
            places[name].append(path)
    assert len(places) > 100
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def printing(text: str) -> list[str]:
    """The calls in a file that print without `deadheat.output`."""
    if not any(f"{name}(" in text for name in (*PRINTING, "stderr.write")):
        return []
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    names = map(ast.unparse, calls)
    return [name for name in names if name in PRINTING or name.endswith("stderr.write")]


def test_every_command_prints_through_the_same_two_files() -> None:
    others = {
        path: calls
        for path, text in SOURCES.items()
        if path not in MAY_PRINT and (calls := printing(text))
    }
    assert not others
    assert printing(SOURCES["output.py"])


def test_only_one_module_writes_percentages() -> None:
    """`3%` in a message, and `3 %` in the next."""
    written = re.compile(r"\{[^{}]*:[^{}]*%\}|\{100 \* [^{}]*:[^{}]*\} %")
    places = [
        f"{path}: {match[0]}"
        for path, text in SOURCES.items()
        if path != "numbers.py"
        for match in written.finditer(text)
    ]
    assert places == ["campaign/calibrate.py: {s:.0%}"], "a name of a server, and no text"
