"""What a terminal shows live: the result so far, and progress."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, Group

from deadheat.cli.progress_view import board_view, progress_view, status
from deadheat.events import Board, BoardRow, Event, Progress
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced

BOARD = Board(
    rows=(
        BoardRow("alpha", 2000.0, "1", 3, open=False),
        BoardRow("beta", 1000.0, "2-3", 3, open=True),
        BoardRow("gamma", None, None, 0, open=True),
    ),
    connections=100,
    block=7,
    decided=1,
    pairs=2,
    elapsed_s=80.2,
    budget_s=300.0,
)


def shown(board: Board, height: int = 24) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(Group(*board_view(board, height)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_names_the_workload_of_its_rates_in_a_run_of_several() -> None:
    assert "req/s on hello" in shown(replace(BOARD, workload="hello"))


def test_shows_ranks_rates_and_what_is_open() -> None:
    header, _, alpha, beta, gamma, *_ = shown(BOARD).splitlines()
    assert header.split() == ["rank", "server", "req/s", "%", "of", "fastest", "starts", "place"]
    assert alpha.split()[:3] == ["1", "alpha", "2,000"]
    assert alpha.split()[-3:] == ["100", "3", "decided"]
    assert beta.split()[0] == "2–3"
    assert beta.split()[-3:] == ["50", "3", "open"]
    assert gamma.split()[:3] == ["–", "gamma", "–"]


def test_the_line_below_counts_pairs_and_time_and_judges_the_machine() -> None:
    text = "1 of 2 pairs decided, 1 min 20 s of at most 5 min, the machine is quiet"
    assert status(BOARD) == text
    assert "not quiet: the last block failed neighbor" in status(
        replace(BOARD, disturbed=("neighbor",))
    )
    assert status(replace(BOARD, decided=None)).startswith("no look yet at 2 pairs")


def test_a_single_server_has_no_rank_and_no_percentage() -> None:
    text = shown(replace(BOARD, rows=BOARD.rows[:1], pairs=0, decided=None))
    assert "alpha" in text
    for word in ("rank", "%", "pair"):
        assert word not in text


def test_a_long_table_is_cut_to_the_terminal() -> None:
    rows = tuple(BoardRow(f"s{n:02}", 1000.0 - n, None, 1, open=True) for n in range(60))
    text = shown(replace(BOARD, rows=rows), height=20)
    assert len(text.splitlines()) <= 20
    assert "more" in text


def test_a_race_in_slices_reports_a_board_after_each_block(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    fake.conduct(sliced())
    boards = [event for event in fake.events if isinstance(event, Board)]
    assert [board.block for board in boards] == list(range(1, len(boards) + 1))
    last = boards[-1]
    assert [row.name for row in last.rows] == ["fast", "slow"]
    assert (last.decided, last.pairs) == (1, 1)
    assert last.elapsed_s <= last.budget_s


def test_a_terminal_shows_the_board_and_keeps_events(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress_view() as listen:
        listen(Progress("block 7, 2 contenders racing", done=7, left_s=60))
        listen(BOARD)
        listen(Event("b ended"))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "b ended" in printed.err
    assert "alpha" in printed.err
    assert "1 of 2 pairs decided" in printed.err


def test_piped_progress_has_no_board(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_view() as listen:
        listen(BOARD)
    assert capsys.readouterr().err == ""


def test_a_single_step_is_not_numbered(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_view() as listen:
        listen(Progress("building a", 0, 1))
    assert capsys.readouterr().err.splitlines() == ["building a"]


def test_without_a_terminal_progress_is_one_plain_line_per_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not one line per trial; brackets in an event are not markup."""
    with progress_view() as listen:
        listen(Progress("building a", 0, 2))
        listen(Progress("building b", 1, 2))
        listen(Progress("invocation 1: starting a"))
        listen(Progress("invocation 1: starting b"))
        listen(Progress("invocation 1, block 1: a at 10", done=0, left_s=60))
        listen(Progress("invocation 1, block 1: b at 10", done=1, left_s=59))
        listen(Event("b: [red] ended with 2" + " and more" * 30, trouble=True))
        listen(Progress("invocation 1, block 2: a at 10", done=2))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "building a  (1 of 2)",
        "building b  (2 of 2)",
        "invocation 1",
        "invocation 1, block 1",
        "b: [red] ended with 2" + " and more" * 30,
        "invocation 1, block 2",
    ]
