"""A board as files in headless Chromium; the checks themselves are in web/test/board.js."""

import json
import os
import random
import subprocess
from pathlib import Path

from deadheat.boards.page import write as write_audit
from deadheat.boards.readings import read_readings
from deadheat.edition.joined import join, part_of
from deadheat.edition.model import Edition
from deadheat.report.model.load import load_view_of
from deadheat.serve.board import BoardFolder, write_board
from deadheat.serve.heatmap import index_page
from deadheat.store import read_run
from tests.browser.made_page import hostile_run
from tests.browser.programs import WEB, chromium_and_node
from tests.report.made import MadeRun, made_run
from tests.report.sliced import SLICED, sliced_race

RESULTS = Path(__file__).parents[2] / "docs" / "results"
TIMEOUT_S = 600  # ends a check that hangs
WORKLOADS = ("hello", "json", "route", "page", "echo", "upload", "wait", "db")
LANGUAGES = ("Go", "Rust", "Java", "Python", "Ruby", "PHP", "C++", "Elixir", "Nim", "C")
CHECKS = (
    "leads_from_the_index_to_every_kind_of_page",
    "sends_no_request",
    "shows_hostile_text_as_text",
    "passes_axe",
    "fits_a_phone_and_paper",
    "sorts_filters_and_keeps_choices_in_the_link",
    "opens_a_cell_by_mouse_and_keyboard",
    "bug_half_the_rate_was_slower_by_100_percent",
    "follows_the_slider_and_the_mix",
    "shows_changes_that_intervals_support",
    "is_a_sorted_table_without_a_script",
    "shows_a_large_board",
    "marks_cells_of_an_older_build",
    "shows_the_audit_of_another_board",
)


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
    stored = read_run(run.store, run.run_id)
    return join(f"edition {seed}", [part_of(load_view_of(stored), stored.contenders)])


def rebuilt_edition(path: Path) -> Edition:
    """Three servers on hello; two of them, built anew, on json alone."""
    run = made_run(path, protocol=SLICED)
    parts = []
    for version, workload, rates in (
        ("1.0", "hello", {"a": 9000.0, "b": 6000.0, "c": 3000.0}),
        ("2.0", "json", {"a": 900.0, "c": 800.0}),
    ):
        raced = MadeRun(run.store, protocol={**SLICED, "workloads": [{"name": workload}]})
        for name in rates:
            build = run.store.add_build(
                server=name,
                key=f"{name}-{version}",
                built_at="2026-11-20T12:00:00+00:00",
                elapsed_s=1.0,
                toolchains={},
                files={},
                log="",
            )
            raced.contender(name, build_id=build, version=version)
        stored = read_run(run.store, sliced_race(raced, rates, workload=workload))
        parts.append(part_of(load_view_of(stored, whole=True), stored.contenders))
    return join("rebuilt", parts)


def test_the_board(tmp_path: Path) -> None:
    """All checks in one browser and one test: no other worker of pytest may start them again."""
    browser, node = chromium_and_node()
    hostile = hostile_run(tmp_path / "runs.sqlite")
    runs = [hostile, *(_small(hostile) for _ in range(2))]
    board = BoardFolder(tmp_path / "board")
    write_board(board, ((hostile.store, run.run_id) for run in runs))
    new, old = (made_edition(tmp_path / f"{seed}.sqlite", 24, 3, seed) for seed in (1, 2))
    (tmp_path / "made.html").write_text(index_page(new, [old]), encoding="utf-8")
    large = made_edition(tmp_path / "large.sqlite", 150)
    (tmp_path / "large.html").write_text(index_page(large, []), encoding="utf-8")
    rebuilt = rebuilt_edition(tmp_path / "rebuilt.sqlite")
    (tmp_path / "rebuilt.html").write_text(index_page(rebuilt, []), encoding="utf-8")
    readings = read_readings(RESULTS / "boards.json")
    (tmp_path / "audit.html").write_text(write_audit(readings, "html"), encoding="utf-8")
    shots = os.environ.get("SCREENSHOTS") or str(tmp_path)
    done = subprocess.run(
        [node, WEB / "test" / "board.js", browser, tmp_path, shots],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, str | None] = json.loads(done.stdout)
    assert tuple(outcomes) == CHECKS
    failed = [error for error in outcomes.values() if error is not None]
    assert not failed, "\n".join(failed)
