import pytest

from deadheat.cli.progress_view import progress_view
from deadheat.events import Doing, Happened


def test_plain_lines_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """A line a stage, not one a trial; and what happened as it is, brackets too."""
    with progress_view() as listen:
        listen(Doing("building a", 0, 2))
        listen(Doing("building b", 1, 2))
        listen(Doing("invocation 1: starting a"))
        listen(Doing("invocation 1: starting b"))
        listen(Doing("invocation 1, block 1: a at 10", done=0, left_s=60))
        listen(Doing("invocation 1, block 1: b at 10", done=1, left_s=59))
        listen(Happened("b: [red] ended with 2" + " and more" * 30, trouble=True))
        listen(Doing("invocation 1, block 2: a at 10", done=2))
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
