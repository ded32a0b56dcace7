"""Regenerate the figures of the documents from the runs stored in docs/results.

    make figures

In README.md and the documents of `NAMES`, the block between `<!-- figures: COMMAND -->` and
`<!-- end -->` is the output of COMMAND, a line for bash in the root of the repository, and that of
`<!-- markdown: COMMAND -->` the same without a fence. The store of that shell holds every bundle of
docs/results. A document in docs/results is the output of the
`deadheat audit` command in its heading; workloads.md is that of docs/workload_results.py, and
boards.md that of boards.json, which has the readings of files that are not in this repository.
servers.md and its pages are those of servers.json, the stored verification.
"""

import contextlib
import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from deadheat.catalog import load_catalog
from deadheat.cli import cli
from deadheat.measure.inspections import KeptInspections
from deadheat.report.formats.inspections import server_pages
from deadheat.store import Store
from deadheat.store.bundle import import_runs, open_bundle

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
NAMES = (
    "evidence",
    "engine-design",
    "engine-others",
    "reliability",
    "reliability-faults",
    "cluster",
    "workloads",
    "explain",
    "transports",
)
PAGES = (ROOT / "README.md", *(ROOT / "docs" / f"{n}.md" for n in NAMES))
WORKLOADS = RESULTS / "workloads.md"  # docs/workload_results.py writes it
BOARDS = RESULTS / "boards.md"
OF_BOARDS = "deadheat audit docs/results/boards.json --format md"
DOCUMENTS = tuple(sorted(RESULTS.glob("*.md")))

BLOCK = re.compile(r"^<!-- (figures|markdown): (.+?) -->$\n(.*?)^<!-- end -->$", re.M | re.S)
OPENING = re.compile(r"^<!-- (?:figures|markdown):", re.M)
PLAIN = re.compile(r"deadheat [^$;&<>`]+")  # what no shell has to read
AUDIT = re.compile(r"^- `(deadheat audit .+ -o docs/results/(\S+))`$", re.M)


class FigureError(Exception):
    """A page has a broken marker, or its command failed or printed nothing."""


def store_runs(home: Path) -> None:
    """Import every bundle of docs/results into the store of a home of deadheat."""
    with Store(home / "runs.sqlite") as store:
        for path in sorted(RESULTS.glob("*.deadheat")):
            with open_bundle(path) as bundle:
                import_runs(store, bundle, path.name)


def environment_of(home: Path) -> dict[str, str]:
    """An environment in which `deadheat` has this home, and prints as in the documents."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("DEADHEAT_")}
    ours = {"DEADHEAT_HOME": str(home), "COLUMNS": "80", "NO_COLOR": "1", "PATH": programs}
    return inherited | ours


def output_of(command: str, environment: dict[str, str], folder: Path = ROOT) -> str:
    """What the command prints, without spaces at the ends of lines.

    `deadheat` at its beginning runs in this process: to start Python anew takes longer. Raises
    `FigureError` if the command fails or prints nothing.
    """
    (first, _, rest), given = command.partition(" | "), ""
    if PLAIN.fullmatch(first):
        given, command = _printed_by(first, environment["DEADHEAT_HOME"], folder), rest or "cat"
    words = ["bash", "-euo", "pipefail", "-c", command]
    ended = subprocess.run(
        words, env=environment, cwd=folder, input=given, capture_output=True, text=True
    )
    if ended.returncode != 0:
        raise FigureError(f"{command}: exit code {ended.returncode}\n{ended.stderr}")
    if not ended.stdout.strip():
        raise FigureError(f"{command}: printed nothing")
    return "".join(f"{line.rstrip()}\n" for line in ended.stdout.strip("\n").splitlines())


@functools.cache
def _printed_by(command: str, home: str, folder: Path) -> str:
    """What a command of deadheat prints. Raises `FigureError` if it fails."""
    words, environment = shlex.split(command), environment_of(Path(home))
    others = {name: None for name in os.environ if name not in environment}
    with contextlib.chdir(folder), mock.patch.object(sys, "argv", words):
        ended = CliRunner().invoke(cli, words[1:], env={**others, **environment})
    if ended.exit_code != 0:
        raise FigureError(f"{command}: exit code {ended.exit_code}\n{ended.exception}")
    return ended.stdout


def page_of(text: str, environment: dict[str, str]) -> str:
    """The page with each block regenerated. Raises `FigureError`."""
    if len(OPENING.findall(text)) != len(BLOCK.findall(text)):
        raise FigureError("a `<!-- figures: COMMAND -->` has no `<!-- end -->`")

    def regenerated(block: re.Match[str]) -> str:
        kind, command, _ = block.groups()
        fence = "```\n" if kind == "figures" else ""
        output = output_of(command, environment)
        return f"<!-- {kind}: {command} -->\n{fence}{output}{fence}<!-- end -->"

    return BLOCK.sub(regenerated, text)


def document_of(text: str, environment: dict[str, str]) -> str:
    """The audit that the command in the document's heading writes. Raises `FigureError`."""
    heading = AUDIT.search(text)
    if heading is None:
        raise FigureError("no `deadheat audit ... -o docs/results/FILE` in its heading")
    with tempfile.TemporaryDirectory(prefix="deadheat-figures-") as folder:
        written = Path(folder) / "docs" / "results" / heading[2]
        written.parent.mkdir(parents=True)
        _printed_by(heading[1], environment["DEADHEAT_HOME"], Path(folder))
        return written.read_text()


def server_documents() -> dict[Path, str]:
    """The pages of all servers, from the stored verification."""
    stored = KeptInspections.read(RESULTS / "servers.json")
    texts = server_pages(stored.all, load_catalog(ROOT), "servers")
    return {ROOT / "docs" / name: text for name, text in texts.items()}


def regenerate(path: Path, environment: dict[str, str]) -> str:
    """What the file has to hold. Raises `FigureError`, which names the file."""
    make = document_of if path in DOCUMENTS else page_of
    try:
        if path == WORKLOADS:
            return output_of("python docs/workload_results.py --print", environment)
        if path == BOARDS:
            return output_of(OF_BOARDS, environment)
        return make(path.read_text(), environment)
    except FigureError as error:
        raise FigureError(f"{path.relative_to(ROOT)}: {error}") from error


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="deadheat-figures-") as home:
        store_runs(Path(home))
        environment = environment_of(Path(home))
        texts = {path: regenerate(path, environment) for path in (*PAGES, *DOCUMENTS)}
        for path, text in (texts | server_documents()).items():
            if text != path.read_text():
                path.write_text(text)
                print(f"changed {path.relative_to(ROOT)}")


if __name__ == "__main__":
    try:
        main()
    except FigureError as error:
        sys.exit(f"error: {error}")
