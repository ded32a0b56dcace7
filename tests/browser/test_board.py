"""A board as files in headless Chromium; the checks themselves are in web/test/board.js."""

import os
import random
from pathlib import Path

from deadheat.boards.page import write as write_audit
from deadheat.boards.readings import read_readings
from deadheat.edition.joined import join
from deadheat.edition.model import Edition
from deadheat.serve.board import BoardFolder, write_board
from deadheat.serve.heatmap import index_page
from tests.browser.made_page import hostile_run
from tests.browser.programs import chromium_and_node, run_checks
from tests.edition.test_joined import part, rebuilt_edition
from tests.report.made import MadeRun, made_run
from tests.report.sliced import SLICED, sliced_race

RESULTS = Path(__file__).parents[2] / "docs" / "results"
WORKLOADS = ("hello", "json", "route", "page", "echo", "upload", "wait", "db")
LANGUAGES = ("Go", "Rust", "Java", "Python", "Ruby", "PHP", "C++", "Elixir", "Nim", "C")


def _small(of: MadeRun) -> MadeRun:
    run = MadeRun(of.store, cpus=4)
    run.race({"alpha": 9000.0, "reference-like": 6000.0}, blocks=4)
    run.end()
    return run


def made_edition(path: Path, servers: int, workloads: int = 8, seed: int = 1) -> Edition:
    """A run of as many servers on as many workloads, with dead heats and cells without a rank."""
    chosen = [{"name": name} for name in WORKLOADS[:workloads]]
    run = made_run(path, protocol={**SLICED, "workloads": chosen})
    draw = random.Random(seed)
    rates = {f"{LANGUAGES[i % 10].lower()}-{i:03}": 90_000 * 0.975**i for i in range(servers)}
    for i, name in enumerate(rates):
        language = {"language": LANGUAGES[i % 10], "kind": ("micro", "server", "full-stack")[i % 3]}
        manifest = {**language, "framework": f"framework {i // 20}", "workloads": [*WORKLOADS]}
        manifest["template_engine"] = "EJS"
        run.contender(name, manifest=manifest, version=f"{1 + i % 2}.{i % 7}.0")
    for place, workload in enumerate(WORKLOADS[:workloads]):
        here = {
            name: rate * draw.uniform(0.7, 1.3) / (1 + place)
            for i, (name, rate) in enumerate(rates.items())
            if (i + place) % 11  # some do not answer some workload
        }
        invalid = dict.fromkeys(list(here)[3::40], 0)
        sliced_race(run, here, valid_blocks=invalid, workload=workload)
    return join(f"edition {seed}", [part(run.store, run.run_id)])


def test_the_board(tmp_path: Path) -> None:
    """All checks in one browser and one test: no other worker of pytest may start them again."""
    chromium_and_node()
    hostile = hostile_run(tmp_path / "runs.sqlite")
    runs = [hostile, *(_small(hostile) for _ in range(2))]
    board = BoardFolder(tmp_path / "board")
    write_board(board, ((hostile.store, run.run_id) for run in runs))
    new, old = (made_edition(tmp_path / f"{seed}.sqlite", 24, 3, seed) for seed in (1, 2))
    (tmp_path / "made.html").write_text(index_page(new, [old]), encoding="utf-8")
    large = made_edition(tmp_path / "large.sqlite", 150)
    (tmp_path / "large.html").write_text(index_page(large, []), encoding="utf-8")
    rebuilt = rebuilt_edition(made_run(tmp_path / "rebuilt.sqlite").store)
    (tmp_path / "rebuilt.html").write_text(index_page(rebuilt, []), encoding="utf-8")
    readings = read_readings(RESULTS / "boards.json")
    (tmp_path / "audit.html").write_text(write_audit(readings, "html"), encoding="utf-8")
    shots = os.environ.get("SCREENSHOTS") or str(tmp_path)
    run_checks("board.js", 14, tmp_path, shots)
