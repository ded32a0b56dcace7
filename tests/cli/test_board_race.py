"""`deadheat board race` on real servers: a stop loses nothing, and only what changed runs again."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deadheat.campaign.campaign import Plan
from deadheat.cli import board
from deadheat.cli.endings import ExitCode
from deadheat.edition.parts import PlannedPart, Racer
from deadheat.edition.sitting import Sitting
from deadheat.errors import StoreError
from deadheat.protocol import SliceProtocol, load_as
from deadheat.report.formats.page import PAGE
from deadheat.store import Store
from tests.cli.conftest import Deadheat, short_race, started
from tests.edition.test_parts import RACERS, in_language, racer
from tests.report.made import made_run
from tests.servers.contenders import CATALOG

SERVERS = ("hello", "outlives-sigterm")
TRIALS = """
    SELECT trial.run_id, contender.name, block FROM trial
    JOIN contender ON contender.id = contender_id ORDER BY trial.id
"""

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page is not built: make page")


def stored(tmp_path: Path, query: str = TRIALS) -> list[dict[str, Any]]:
    path = tmp_path / "edition" / "runs.sqlite"
    try:
        with Store(path, read_only=True) as store:
            return store.rows(query)
    except StoreError:  # it is not there yet, or has no tables
        return []


def test_a_stop_loses_nothing_and_only_what_changed_runs_again(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race of two is killed and resumed, asked for once more, and a third server is added."""
    rules, edition = tmp_path / "short.toml", tmp_path / "edition"
    rules.write_text(short_race('kind = "fixed", repetitions = 4'))
    more = ("--shared", "hello", "--protocol", str(rules), "-o", str(edition))
    words = ("board", "race", *SERVERS, *more)
    with started(*words) as process:
        while len(stored(tmp_path)) < 2:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    before = stored(tmp_path)
    again = deadheat(*words)
    assert "resumes     run" in again.out
    after = stored(tmp_path)
    assert after[: len(before)] == before
    runs = stored(tmp_path, "SELECT id, state FROM run")
    assert [run["state"] for run in runs] == ["complete"]
    counts = [sum(each["name"] == name for each in after) for name in SERVERS]
    assert min(counts) >= 4, "a block that the kill interrupted may be raced again"
    assert [path.stem for path in (edition / "bundles").iterdir()] == [runs[0]["id"]]
    assert again.ran
    if again.code == ExitCode.OK:  # on a busy machine no trial may be valid, and no rate known
        assert "hello" in (edition / "board" / "index.html").read_text()
    # The pages were written in processes of their own, each of which imports everything anew.
    monkeypatch.setattr(board, "_write_apart", lambda folder: board._write(folder, ["deadheat"]))
    assert deadheat(*words).out.startswith("servers     2 servers built\nto race     0 cells")
    assert stored(tmp_path) == after, "nothing changed, so nothing ran again"
    added = deadheat("board", "race", *SERVERS, "exits-at-start", *more)
    assert "to race     2 cells of servers by workloads in 1 part" in added.out
    runs = stored(tmp_path, "SELECT command FROM run ORDER BY rowid")
    assert len(runs) == 2
    assert '"hello", "exits-at-start"' in runs[1]["command"]
    assert f'"--protocol", "{rules}"' in runs[1]["command"], "the command repeats the part"
    failed = [line for line in added.err.splitlines() if line.startswith("exits-at-start")]
    assert len(failed) == 1, "one server that fails costs a line"


def sitting_of(folder: Path, racers: dict[str, Racer], budget_s: float) -> Sitting:
    return Sitting(
        folder=folder,
        rules=load_as(CATALOG, "settle", SliceProtocol),
        run_options=(),
        racers=racers,
        budget_s=budget_s,
        most_together=2,
        named=(),
        carry_out=lambda plan: "",
        rest_of=lambda run_id: pytest.fail(run_id),
        write=lambda: None,
    )


def test_bug_parts_were_as_short_as_if_no_server_compiled(tmp_path: Path) -> None:
    """An edition of 65 servers on seven workloads spent its parts on warm-ups."""
    racers = {name: racer(name, "hello", "json", "route") for name in RACERS}
    usual = sitting_of(tmp_path, racers, 10_000.0)
    java = {name: in_language(each, "Java") for name, each in racers.items()}
    compiled = sitting_of(tmp_path, java, 10_000.0)
    (_, parts), (_, parts_of_java) = usual._left(), compiled._left()
    assert [part.names for part in parts] == [part.names for part in parts_of_java]
    assert compiled._useful_s(parts[0]) > 2 * usual._useful_s(parts[0])
    compiled.budget_s = compiled._useful_s(parts[0]) - 30.0
    _, smaller = compiled._left()
    assert len(smaller) > len(parts), "fewer servers race together where time is short"


def test_bug_two_interrupts_in_a_row_began_the_next_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`timeout` forwards an interrupt that the terminal sent too; the second one came while the
    run was ended, which so stayed in the state `running`.
    """
    sitting = sitting_of(tmp_path, RACERS, 10_000.0)
    left = SimpleNamespace(run_id="r", state="running", trials=0)
    monkeypatch.setattr("deadheat.edition.sitting.run_summaries", lambda store: [left])
    sitting.carry_out = lambda plan: "r"
    assert sitting._race(PlannedPart(("a", "b"), ("hello",)), 10.0)


def test_the_first_pass_has_70_percent_of_the_budget_shared_by_cells(tmp_path: Path) -> None:
    sitting = sitting_of(tmp_path, RACERS, 10_000.0)
    parts = [PlannedPart(("a", "b", "c"), ("hello",)), PlannedPart(("d",), ("hello",))]
    budgets_s = [sitting._budget_of(part, parts) for part in parts]
    assert budgets_s == pytest.approx([7000 * 3 / 4, 7000 / 4], rel=0.02)
    sitting.budget_s = 1.0
    assert sitting._budget_of(parts[0], parts) > 1.0, "a shorter part gives no interval"


def test_the_pages_are_written_anew_only_after_a_run(tmp_path: Path) -> None:
    """A sitting that had nothing to race wrote the same board twice."""
    written: list[None] = []

    def stop(_: Plan) -> str:
        raise KeyboardInterrupt

    sitting = sitting_of(tmp_path, RACERS, 10_000.0)
    sitting.write = lambda: written.append(None)
    sitting.carry_out = stop
    for _ in range(2):
        sitting._state()
    assert len(written) == 1
    assert sitting._race(PlannedPart(("a",), ("hello",)), 10.0), "it was stopped"
    sitting._state()
    assert len(written) == 2


@pytest.fixture
def mixed(catalog: Path) -> None:
    """A catalog in which hello is written in Ruby, and tires needs a tool that does not exist."""
    changes = (("hello", '"Python"', '"Ruby"'), ("tires", 'recipe = "python"', 'recipe = "none"'))
    for name, before, after in changes:
        manifest = catalog / "servers" / name / "server.toml"
        manifest.write_text(manifest.read_text().replace(before, after))
    python = (catalog / "recipes" / "python.toml").read_text()
    missing = python.replace('["python3"', '["no-such-tool"')
    (catalog / "recipes" / "none.toml").write_text(missing)


@pytest.mark.usefixtures("mixed")
def test_bug_shared_servers_were_taken_as_they_were_typed(
    deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A glob or a typo linked no parts, and --language dropped a shared server."""
    made: dict[str, Any] = {}

    def sitting(**values: Any) -> SimpleNamespace:
        made.update(values)
        return SimpleNamespace(run=lambda: (False, True))

    monkeypatch.setattr(board, "Sitting", sitting)
    words = ("board", "race", "-o", str(tmp_path / "edition"))
    ended = deadheat(*words, "exits-*", "--language", "python", "--shared", "hel*")
    assert (ended.code, made["named"]) == (0, ("hello",)), ended.err
    assert {*made["racers"]} == {"exits-at-start", "hello"}
    ended = deadheat(*words, "hello", "--shared", "tires")
    assert ended.code == 2
    assert "error: --shared tires: expected servers that work on this machine" in ended.err


def test_bug_a_full_disk_during_an_export_ended_the_sitting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run stays in the store, and a later sitting exports it."""
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"a": 9000}, blocks=1)
    run.end()
    sitting = sitting_of(tmp_path, RACERS, 1.0)
    sitting._export()  # there is no folder for bundles
    bundle = tmp_path / "bundles" / f"{run.run_id}.deadheat"
    assert f"! the bundle {bundle} cannot be written: " in capsys.readouterr().err
    bundle.parent.mkdir()
    sitting._export()
    assert bundle.is_file()


def test_bug_of_two_older_editions_of_one_name_the_board_had_one() -> None:
    before = ("oct/bundles", "sep/bundles", "v1.0", "v1.1", "x/theirs.deadheat", "newest", "b837")
    names = board._edition_names(before)
    shown = ["oct/bundles", "sep/bundles", "v1.0", "v1.1", "theirs", "newest (before)", "b837"]
    assert names == dict(zip(before, shown, strict=True))
