"""The commands in docs/add-a-server.md, and the keys and recipes in docs/manifest.md."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from deadheat.catalog.manifest import (
    BuildRules,
    Manifest,
    Need,
    Published,
    Setting,
    StartChanges,
    StartRules,
    Version,
)
from tests.cli.conftest import Deadheat

HERE = Path(__file__).resolve().parents[2]
DOC = (HERE / "docs" / "add-a-server.md").read_text()
MANIFEST = (HERE / "docs" / "manifest.md").read_text()
FILES = dict(re.findall(r"^`(servers/\S+)`:\n\n```\w+\n(.*?)^```", DOC, re.M | re.S))
COMMAND_LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", DOC, re.M | re.S)
    for line in block.splitlines()
]
PARTS: dict[str, type[BaseModel]] = {
    "version": Version,
    "needs": Need,
    "build": BuildRules,
    "start": StartRules,
    "settings.NAME": Setting,
    "transports.NAME": StartChanges,
    "published": Published,
}


def keys() -> Iterator[str]:
    """Every key that a manifest may have."""
    for name, field in Manifest.model_fields.items():
        if name not in {part.split(".")[0] for part in PARTS}:
            yield field.alias or name
    for part, model in PARTS.items():
        yield from (f"{part}.{name}" for name in model.model_fields)


def required(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        if field.is_required():
            yield prefix + name


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog with the files of the walk-through."""
    root = tmp_path / "catalog"
    for part in ("recipes", "protocols"):
        shutil.copytree(HERE / part, root / part)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_commands_of_the_document_work(
    deadheat: Deadheat, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADHEAT_CATALOG", str(written))
    *before, run = COMMAND_LINES
    for line in before:
        program, *arguments = shlex.split(line)
        assert program == "deadheat"
        ended = deadheat(*arguments)
        assert ended.code == 0, ended
    assert "ok   python-wsgiref 3." in ended.out
    assert "closes each connection" in ended.out  # as the manifest says
    ended = deadheat("plan", *shlex.split(run)[2:])  # other tests run it
    assert ended.code == 0
    assert "contenders    python-wsgiref" in ended.out


def test_the_document_lists_exactly_the_keys_of_a_manifest() -> None:
    table = MANIFEST.partition("## All keys")[2]
    assert re.findall(r"^\| `([^`]+)`", table, re.M) == list(keys())


def test_the_document_marks_exactly_the_required_keys() -> None:
    table = MANIFEST.partition("## All keys")[2]
    documented = set(re.findall(r"^\| `([^`]+)` \|  ?\|", table, re.M)) - {"with"}
    needed = {name for name in required(Manifest) if name not in PARTS}
    for part, model in PARTS.items():
        needed |= set(required(model, f"{part}."))
    assert documented == needed


def test_the_document_lists_exactly_the_recipes() -> None:
    recipes = sorted(path.stem for path in (HERE / "recipes").glob("*.toml"))
    family = MANIFEST.partition("## When there is something to build")[2].partition(
        "## Placeholders"
    )[0]
    builds, _, locks = family.partition("| the lock is made by |")
    assert re.findall(r"^\| `([a-z-]+)` \| ", builds, re.M) == recipes
    assert set(re.findall(r"`([a-z-]+)`[^|]* \| ", locks)) <= set(recipes)
