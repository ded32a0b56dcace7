"""The board: its files, the links between them, and foreign text in them."""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from deadheat.cli import cli
from deadheat.report.formats.page import PAGE
from deadheat.serve.board import BoardFolder
from deadheat.serve.markup import comparison_file, slug
from deadheat.store.bundle import export_run
from tests.report.made import SETTLE, MadeRun, failed, made_run
from tests.report.sliced import SLICED, sliced_race

HOSTILE = '../<img src=x onerror="alert(1)">'
PNG = b"\x89PNG"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page is not built: make page")


def two_runs(folder: Path) -> MadeRun:
    """Two runs in one store: alpha and beta are in both, the hostile name in the first."""
    first = made_run(folder / "runs.sqlite")
    first.race({"alpha": 9000, "beta": 3000, HOSTILE: 1000}, levels=(10, 100))
    first.contender("broken")
    first.trial("broken", 5.0, gates=failed())
    first.end()
    second = MadeRun(first.store)
    second.race({"alpha": 8000, "beta": 4000})
    second.end()
    return first


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    return two_runs(tmp_path)


def board_of(run: MadeRun, *arguments: str) -> Result:
    words = ["board", "write", "--store", str(run.store.path), *arguments]
    return CliRunner().invoke(cli, words)


def written(run: MadeRun, *arguments: str) -> Path:
    """The folder of a board beside the store of `run`."""
    folder = run.store.path.parent / "board"
    done = board_of(run, *arguments, "-o", str(folder))
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of `two_runs`, which several tests read."""
    return written(two_runs(tmp_path_factory.mktemp("board")))


class Links(HTMLParser):
    """The addresses that a page links to or loads."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and values.get("href"):
            self.hrefs.append(values["href"] or "")
        elif tag != "a":
            self.loaded += [values[key] or "" for key in ("src", "href") if values.get(key)]


def links(page: Path) -> Links:
    parser = Links()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def test_every_page_is_reached_from_the_index_by_links_to_files(board: Path) -> None:
    reached, waiting = set(), [board / "index.html"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached:
            continue
        reached.add(page)
        hrefs = [href.partition("#")[0] for href in links(page).hrefs]
        waiting += [page.parent / h for h in hrefs if h and not h.startswith("https://")]
    assert reached == {path.resolve() for path in board.rglob("*.html")}
    assert len(reached) == 1 + 2 + 4 + 3  # the index, runs, servers, pairs of ranked servers


def test_pages_load_nothing_and_foreign_names_are_text_in_them(board: Path) -> None:
    for page in board.rglob("*.html"):
        assert all(address.startswith("data:") for address in links(page).loaded), page
        assert "default-src 'none'" in page.read_text(encoding="utf-8")
        assert "<img" not in page.read_text(encoding="utf-8")
    assert {path.parent.name for path in board.rglob("*.html")} == {
        "board",
        "runs",
        "servers",
        "comparisons",
    }


def title_of(page: str) -> str:
    return str(re.findall("<h1[^>]*>([^<]*)</h1>", page)[0])


def picture_of(page: str) -> str:
    """The title of its picture."""
    return str(re.findall("<svg.*?<title>([^<;]*)", page, re.S)[0])


def test_a_comparison_shows_every_run_of_both(board: Path) -> None:
    page = (board / comparison_file("beta", "alpha")).read_text(encoding="utf-8")
    assert page.count("faster than beta [") >= 3  # two levels, and one in the second run
    assert page.count('<a href="../runs/') == 3
    assert title_of(page) == picture_of(page)


def test_bug_the_picture_of_a_pair_was_of_another_workload_than_its_title(tmp_path: Path) -> None:
    """In a run without hello, where the two are no neighbors at the main level."""
    names = ("route", "page", "echo")
    workloads = [{"name": name} for name in names]
    run = made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, "workloads": workloads})
    for name in "abc":
        run.contender(name, manifest={"language": name, "framework": name, "kind": "micro"})
    for workload, order in zip(names, ("abc", "acb", "cab"), strict=True):
        run.race(dict(zip(order, (9000, 6000, 3000), strict=True)), workload=workload)
    run.end()
    page = (written(run) / comparison_file("a", "c")).read_text("utf-8")
    assert title_of(page).startswith("c is")
    assert picture_of(page) == title_of(page)


def test_previews_have_a_picture_only_with_an_address(run: MadeRun) -> None:
    pytest.importorskip("resvg_py", reason="the package resvg_py is not installed")
    folder = written(run)
    page = folder / comparison_file("alpha", "beta")
    assert 'property="og:title" content="alpha is ' in page.read_text(encoding="utf-8")
    assert "og:image" not in page.read_text(encoding="utf-8")
    assert not list(folder.rglob("*.png"))
    done = board_of(run, "-o", str(folder), "--url", "https://example.org/results/")
    if "no font" in done.output:
        pytest.skip("this machine has no font to write with")
    for name in ("comparisons/alpha--beta", "index", f"runs/{run.run_id}"):
        page, address = folder / f"{name}.html", f"https://example.org/results/{name}.png"
        assert f'property="og:image" content="{address}"' in page.read_text(encoding="utf-8")
        assert page.with_suffix(".png").read_bytes().startswith(PNG)


def test_a_new_board_replaces_the_old_one_in_a_folder(run: MadeRun) -> None:
    folder = written(run)
    second = next(path.stem for path in (folder / "runs").iterdir() if path.stem != run.run_id)
    assert written(run, second) == folder
    assert [path.stem for path in (folder / "runs").iterdir()] == [second]


def test_bug_a_board_that_was_killed_could_not_be_written_again(
    run: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m bench.faults --only board`: its folder counted as one of other files."""
    folder = tmp_path / "board"

    def killed(_: BoardFolder) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BoardFolder, "finish", killed)
        board_of(run, "-o", str(folder))
    assert [*folder.rglob("*.html")]
    assert board_of(run, "-o", str(folder)).exit_code == 0


def test_rejects_a_folder_with_other_files(run: MadeRun, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").write_text("cat")
    done = board_of(run, "-o", str(folder))
    assert "the folder is not empty" in str(done.exception)
    assert [path.name for path in folder.iterdir()] == ["cat.jpg"]


def test_takes_bundles_and_stored_runs_together(run: MadeRun, tmp_path: Path) -> None:
    bundle = tmp_path / "first.deadheat"
    export_run(run.store, run.run_id, bundle)
    folder = written(run, str(bundle), run.run_id)
    assert [path.stem for path in (folder / "runs").iterdir()] == [run.run_id]


def test_names_that_differ_have_different_files() -> None:
    names = ["a/b", "a b", "a-b", "a:b", "A-b", "..", "", "ä", HOSTILE, "x" * 200, "x" * 201]
    files = [slug(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9_][a-z0-9._-]*", name) for name in files)


def test_a_run_of_several_workloads_keeps_their_rates_apart(tmp_path: Path) -> None:
    names = [{"name": "hello"}, {"name": "route"}]
    run = made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, "workloads": names})
    run.race({"alpha": 9000, "beta": 3000}, workload="hello")
    run.race({"alpha": 2000, "beta": 3000}, workload="route")
    run.end()
    page = (written(run) / comparison_file("alpha", "beta")).read_text("utf-8")
    assert "route, 100" in page
    assert page.index("alpha is") < page.index("beta is"), "hello first"


def test_only_neighbors_and_servers_of_one_language_have_a_page_together(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    languages = {"a": "Go", "b": "Rust", "c": "Go", "d": "Ruby"}
    for name, language in languages.items():
        run.contender(name, manifest={"language": language, "framework": name, "kind": "micro"})
    run.race({"a": 9000, "b": 6000, "c": 4000, "d": 2000})
    run.end()
    pages = {path.stem for path in (written(run) / "comparisons").iterdir()}
    assert pages == {"a--b", "b--c", "c--d", "a--c"}


def test_a_badge_says_place_and_share(board: Path) -> None:
    badge = json.loads((board / "badges" / "alpha.json").read_text("utf-8"))
    assert badge["schemaVersion"] == 1
    assert badge["message"].startswith("hello 100 %, place 1 of ")
    broken = json.loads((board / "badges" / "broken.json").read_text("utf-8"))
    assert broken["message"] == "not ranked"


def test_a_dash_has_its_reason_without_a_script(board: Path) -> None:
    page = (board / "index.html").read_text("utf-8")
    row = next(line for line in page.split("\n") if ">broken</a>" in line)
    assert "its trial is not valid" in row


def test_the_index_is_a_table_sorted_by_rate_without_a_script(board: Path) -> None:
    page = (board / "index.html").read_text("utf-8")
    names = re.findall(r'<th scope="row"[^>]*><a [^>]*>([^<]*)</a>', page)
    assert names[0] == "alpha"
    assert names.index("beta") < names.index("broken")
    assert "This board separates differences of" in page


def test_a_server_page_has_its_start_line_its_output_and_how_to_repeat_it(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.contender("go-gin")
    run.contender("other")
    run.race({"go-gin": 9000, "other": 3000}, stdout="printed by the generator")
    run.end()
    page = (written(run) / "servers" / "go-gin.html").read_text("utf-8")
    assert "printed by the generator" in page
    assert "deadheat run go-gin" in page
    assert "go build" in page
    raw = CliRunner().invoke(cli, ["report", "--raw", "--store", str(run.store.path)])
    assert "printed by the generator" in raw.output
    shown = raw.output.split("go-gin on hello\n\n")[1].split("\nother on")[0]
    assert html.escape(shown) in page


def test_bug_two_levels_of_a_workload_had_the_same_id(board: Path) -> None:
    page = (board / "servers" / "alpha.html").read_text("utf-8")
    assert page.count("100 connections</h2>") == page.count("10 connections</h2>") == 1
    assert page.count('id="w-hello"') == 1


@pytest.fixture
def old_and_new(tmp_path: Path) -> tuple[MadeRun, MadeRun]:
    """The rate of c doubled."""
    old = made_run(tmp_path / "runs.sqlite", protocol=SLICED)
    sliced_race(old, {"a": 9000, "b": 6000, "c": 4000})
    new = MadeRun(old.store, protocol=SLICED)
    sliced_race(new, {"a": 9000, "b": 6000, "c": 8000})
    return old, new


def test_an_older_edition_gives_changes(old_and_new: tuple[MadeRun, MadeRun]) -> None:
    old, new = old_and_new
    data = data_of(written(old, new.run_id, "--before", old.run_id))
    changes = dict(zip((s[0] for s in data["servers"]), data["before"][0][1][0], strict=True))
    assert changes["c"][1] > 1.5, "it doubled"
    assert changes["a"][0] < 1, "beside the others, which became faster"


def data_of(folder: Path) -> Any:
    """What the script of a board reads."""
    page = (folder / "index.html").read_text("utf-8")
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


def test_bug_an_older_edition_of_runs_of_the_board_was_left_out(
    old_and_new: tuple[MadeRun, MadeRun],
) -> None:
    """Without RUNS, a board is of all runs, and those of `--before` are among them."""
    old, _ = old_and_new
    ((_, (changes,)),) = data_of(written(old, "--before", old.run_id))["before"]
    assert len(changes) == 3
