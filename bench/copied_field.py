"""The eight servers of `make run` with second copies of a Go and of a Node.js server."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DEADHEAT = Path(sys.executable).with_name("deadheat")
FIELD = [
    "go-net-http",
    "go-gin",
    "rust-hyper",
    "node-http",
    "node-express",
    "python-gunicorn-flask",
    "python-uvicorn",
    "java-undertow",
]
COPIED = ("go-net-http", "node-express")
NOTHING_VALID = (4, 5)  # exit codes of a race that the machine disturbed: it is stored, too
NAMES = [*FIELD, *(f"{name}-copy" for name in COPIED)]


def catalog_with_copies(folder: Path) -> Path:
    """A catalog of the field, in which a copy has another name and is a server like any other."""
    catalog = folder / "catalog"
    for part in ("protocols", "recipes"):
        shutil.copytree(ROOT / part, catalog / part)
    for name in FIELD:
        shutil.copytree(ROOT / "servers" / name, catalog / "servers" / name)
    for name in COPIED:
        copy = catalog / "servers" / f"{name}-copy"
        shutil.copytree(ROOT / "servers" / name, copy)
        manifest = copy / "server.toml"
        text = manifest.read_text().replace(f'name = "{name}"', f'name = "{copy.name}"', 1)
        manifest.write_text(text.split("[[published]]")[0])
    return catalog


def race(catalog: Path, store: Path, protocol: str, budget: str) -> dict[str, Any]:
    """The JSON report of one race of the field, also if all of its trials are invalid."""
    command = [str(DEADHEAT), "run", *NAMES, "--protocol", protocol, "--budget", budget]
    command += ["--catalog", str(catalog), "--store", str(store)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if ended.returncode not in NOTHING_VALID:
        ended.check_returncode()
    return report_of(store)


def report_of(store: Path, run_id: str | None = None) -> dict[str, Any]:
    """The JSON report of a run, the newest if it is not named."""
    command = [str(DEADHEAT), "report", *([run_id] if run_id else [])]
    command += ["--store", str(store), "--format", "json"]
    document: dict[str, Any] = json.loads(subprocess.check_output(command))
    return document


def ranked(document: dict[str, Any]) -> int:
    """How many of the field have a rank."""
    return sum(row["rank_low"] is not None for row in document["levels"][0]["standings"])
