"""The cautions of a run."""

import re
from pathlib import Path

from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.cautions import GATE_WORDS, Caution, cautions, none_found
from deadheat.report.findings.points import points
from deadheat.store import Gate
from tests.report.made import MadeRun, failed


def cautions_of(run: MadeRun) -> dict[str, Caution]:
    return {caution.code: caution for caution in cautions(run.view())}


def test_a_clean_run_lists_the_gates_it_passed(run: MadeRun) -> None:
    passed = (
        Gate("steal", True, 0.0, 0.01, "share", ""),
        Gate("errors", True, 0.0, 0.0, "count", ""),
    )
    run.race({"a": 9000}, invocations=1, blocks=2, gates=passed)
    view = run.ended()
    assert cautions(view) == ()
    assert none_found(view) == "none: 2 trials passed every gate (errors, steal)"


def test_warns_about_an_unfinished_run(run: MadeRun) -> None:
    assert "still under way" in cautions_of(run)["running"].text
    run.end("interrupted", "interrupted")
    assert "the run was interrupted;" in cautions_of(run)["interrupted"].text
    run.end("failed", "the disk is full")
    assert "the run failed: the disk is full" in cautions_of(run)["failed"].text


def test_a_gate_is_one_line_with_its_worst_reading_and_advice(run: MadeRun) -> None:
    run.contender("a")
    run.contender("b")
    for reading in (0.02, 0.09, 0.03):
        run.trial("a", 100.0, gates=failed(reading=reading))
    run.trial("b", 100.0, gates=failed())
    run.trial("b", 100.0)
    caution = cautions_of(run)["steal"]
    what = "other virtual machines took CPU time in"
    which = "3 trials of a and 1 trial of b, which do not count (gate steal: worst 9 %, limit 1 %)"
    assert caution.text == f"{what} {which}"
    assert caution.shown == f"{what} 4 of 5 trials: measure later"
    assert caution.contenders == ("a", "b")
    assert caution.advice == "stop what else runs on this machine"


def test_says_that_nothing_was_checked_if_nothing_was_measured(run: MadeRun) -> None:
    run.contender("a")
    assert none_found(run.ended()) == "nothing was measured, so nothing was checked"


def test_a_long_build_step_is_cut(run: MadeRun) -> None:
    """Regression: the scripts of three build steps filled the first screen of a report."""
    step = "sbcl --eval (progn\n  " + "x" * 300
    run.contender("a", fault=f"a: build step `{step}` ended with exit code 1\n  | no")
    text = cautions_of(run)["absent"].text
    assert text.startswith("a: build step `sbcl --eval (progn xxx")
    assert text.endswith("…` ended with exit code 1")
    assert len(text) < 100


def test_bug_a_fault_without_a_text_in_a_bundle_ended_the_report(run: MadeRun) -> None:
    run.contender("a", fault=" ")
    assert cautions_of(run)["absent"].text == "a did not run: "


def test_counts_the_contenders_beyond_the_first_few(run: MadeRun) -> None:
    for name in "abcdefg":
        run.contender(name)
        run.trial(name, 100.0, gates=failed())
    text = cautions_of(run)["steal"].text
    assert "took CPU time in all 7 trials, which do not count (gate steal: worst 4 %" in text
    run.trial("a", 100.0)
    assert "1 trial of d and 3 of 3 others" in cautions_of(run)["steal"].text


def test_warns_about_failed_trials_absences_errors_and_unsteady_starts(run: MadeRun) -> None:
    run.contender("a")
    run.trial("a", None, state="failed", reason="a died under load (exit 1)\nits last words")
    run.trial("a", 100.0, errors={"reset": 1200, "timeout": 3})
    run.start("a", steady={"kind": "none", "trouble": "no steady state within 10 s of load"})
    run.start("a")
    run.contender("b", fault="b was not ready within 30 s")
    by_code = cautions_of(run)
    assert by_code["trial-failed"].text == "a: 1 trial failed: a died under load (exit 1)"
    assert by_code["errors"].text.startswith("a: 1,203 requests failed (1,200 reset, 3 timeout)")
    assert by_code["unsteady"].text.endswith(
        "no steady state within 10 s of load, in 1 of 2 starts"
    )
    assert by_code["absent"].text == "b was not ready within 30 s"


def test_counts_the_starts_that_failed_and_those_that_were_repeated(run: MadeRun) -> None:
    run.contender("a")
    for _ in range(2):
        run.start("a", fault="a ended before it was ready (signal 9)\nits last words")
    run.start("a")
    run.contender("b", fault="b died during its warm-up (exit 1)")
    run.start("b", fault="b died during its warm-up (exit 1)")
    caution = cautions_of(run)["start-failed"]
    assert caution.contenders == ("a",), "b is out"
    assert caution.text == (
        "a: 2 starts failed and had to be repeated: ended before it was ready (signal 9)"
    )
    run.contender("c")
    run.start("c")
    run.start("c", 2, fault="c was not ready within 30 s")
    assert cautions_of(run)["start-failed"].text.endswith(
        "and c (1 start failed: was not ready within 30 s)"
    )


def test_says_when_the_middle_of_a_log_was_dropped(run: MadeRun) -> None:
    """A server wrote 953 MiB of log; what is kept of it has to say so."""
    run.contender("a")
    run.start("a", ended={"how": "exit 0"})
    run.start("a", 2, ended={"how": "exit 0", "log_cut_bytes": 953 << 20})
    caution = cautions_of(run)["log-cut"]
    assert caution.text == "a: 953 MiB were dropped from the middle of its log in 1 of 2 starts"


def test_cautions_of_one_kind_are_one(run: MadeRun) -> None:
    """Eight servers that failed in the same way took eight lines of the first screen."""
    for name in "abcdef":
        run.contender(name)
        run.trial(name, 100.0, errors={"reset": 2}, gates=failed("errors"))
    run.contender("x", fault="x did not build")
    run.contender("y", fault="y: no such tool")
    by_code = cautions_of(run)
    assert by_code["errors"].contenders == tuple("abcdef")
    details = ", ".join(f"{name} (2 requests failed (2 reset))" for name in "abcd")
    assert by_code["errors"].text == (
        f"requests failed: {details} and 2 more; rates leave them out"
    )
    assert by_code["errors"].shown == "requests failed: a, b, c, d and 2 more; rates leave them out"
    assert by_code["absent"].text == "these did not run: x (did not build) and y (no such tool)"
    assert len(cautions(run.view())) == len(by_code)


def test_the_first_screen_has_three_lines_of_cautions_at_most(run: MadeRun) -> None:
    run.contender("a", fault="a is gone")
    run.contender("b")
    for code in ("steal", "neighbor", "client_wait"):
        run.trial("b", 100.0, gates=failed(code))
    view = run.ended()
    lines = points(view, analyze(view), view.run_id)
    told = [each for each in lines if each.topic == "CAUTION"]
    assert [each.text for each in told][::2] == ["a is gone", "2 more cautions: -v"]
    assert len(told) == 3


def test_every_gate_has_words_for_who_never_heard_of_it() -> None:
    table = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()
    codes = re.findall(r"^\| ([a-z_]+) \|", table.partition("A threshold is widened")[0], re.M)
    assert {*codes} - {"gate"} == {*GATE_WORDS}
