import pytest

from deadheat.cli.progress_view import progress_view
from deadheat.events import Event, Progress


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
