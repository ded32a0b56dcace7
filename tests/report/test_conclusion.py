"""Which contender is fastest, how certain that is, the conclusions, and what is still needed."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat import report
from deadheat.host.doctor import host_key
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.conclusion import answer, conclusions, trust
from deadheat.report.findings.next_step import run_anew
from deadheat.report.findings.points import Point, points
from deadheat.report.findings.precision import calibration
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.store.bundle import open_bundle
from deadheat.store.json_columns import CalibrationResult, FoundSlowdown
from deadheat.store.listing import run_ids
from tests.report.made import FINGERPRINT, QUICK, SETTLE, MadeRun, failed, made_run


def answer_and_trust(run: MadeRun) -> tuple[str, str]:
    view = run.view()
    analysis = analyze(view)
    return answer(view, analysis.main), trust(view, analysis, analysis.main)


def test_names_a_single_leader_with_its_lead(run: MadeRun) -> None:
    run.race({"alpha": 9000, "beta": 3000})
    run.end()
    first, second = answer_and_trust(run)
    assert re.fullmatch(r"alpha is fastest: \d+ % \(\d+ to \d+ %\) ahead of the next", first)
    assert second == (
        "1 of 1 pair is separated, jointly at 95 %. All 48 trials of servers passed every check"
    )


def test_bug_the_fastest_was_named_below_one_that_the_client_limited(run: MadeRun) -> None:
    """`middle is fastest` stood above `KNOWN fast > middle`."""
    busy = {"fast": failed("client_cpu", 0.93)}
    run.race({"fast": 15_000, "middle": 9000, "slow": 3000}, gates_of=busy)
    run.end()
    limited, rest = answer_and_trust(run)[0].split("; of the others, ")
    assert limited == "fast is faster than middle: the client limited its rate"
    assert rest.startswith("middle is fastest: ")


def test_the_answer_and_the_table_name_the_same_dead_heat() -> None:
    """Regression: the answer counted 8 in a dead heat for the lead, and the table braced 6."""
    bundle = Path(__file__).parents[2] / "docs" / "results" / "workloads.deadheat"
    with open_bundle(bundle) as store:
        (run_id,) = run_ids(store)
        view = load_view(store, run_id).by_workload[0]
        level = analyze(view).main
    assert level.ranking is not None
    braced = level.ranking.dead_heats[0]
    sentence = answer(view, level)
    assert len(braced) == 7
    assert "and 4 more are in a dead heat for the lead" in sentence
    assert sentence.endswith("; java-undertow, node-http and node-fastify may be as fast")


def test_a_failed_check_is_no_reason_for_a_contender_that_was_not_measured(run: MadeRun) -> None:
    run.race({"alpha": 9000, "beta": 3000})
    run.contender("gamma")
    run.trial("gamma", 20_000.0, gates=failed("steal"))
    run.contender("absent")
    text = answer_and_trust(run)[1]
    assert "1 of 49 trials failed a check and does not count" in text
    assert "Not ranked: gamma (steal). Not measured: absent" in text
    assert "The run is not complete (running)" in text


def test_gives_no_answer_without_measurements(run: MadeRun) -> None:
    run.contender("alpha")
    assert answer_and_trust(run)[0] == "No rate: nothing was measured"


def conclusions_of(run: MadeRun) -> dict[str, str]:
    view = run.view()
    return {statement.topic: statement.text for statement in conclusions(view, analyze(view))}


def test_counts_many_separated_pairs_and_names_the_closest(run: MadeRun) -> None:
    run.race({"a": 9000, "b": 6000, "c": 4000, "d": 3000, "e": 1000, "f": 500})
    texts = conclusions_of(run)["separated"]
    assert texts.startswith("5 of 5 neighboring pairs; the closest: c is faster than d by 3")


def test_names_pairs_in_opposite_order_at_another_level(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, "connections": [10, 100]})
    run.race({"a": 9000, "b": 3000}, levels=(100,))
    run.race({"a": 3000, "b": 9000}, levels=(10,))
    assert conclusions_of(run)["at 10"].startswith("in the opposite order: b is faster than a;")


def test_states_the_calibration_of_such_a_machine(run: MadeRun) -> None:
    run.race({"a": 9000})
    found = {0.02: 4, 0.03: 3, 0.05: 4, 0.1: 4}
    result = {
        "false_difference_rate": 0.045,
        "null_pairs": 200,
        "minimum_detectable_effect": 0.021,
        "slowdowns": [{"injected": by, "found": n, "races": 4} for by, n in found.items()],
    }
    run.store.add_calibration(host_key(FINGERPRINT), FINGERPRINT, result)
    assert re.fullmatch(
        r"a machine of this kind, on [\d-]{10}: 4.5 % of 200 pairs of equal servers seemed to "
        r"differ \(5 % is expected by chance\); a slowdown of 5 % was found in 4 of 4 races; "
        "80 % power to detect a difference of 2.1 %",
        conclusions_of(run)["calibration"],
    )


def test_reports_a_failed_calibration() -> None:
    missed = FoundSlowdown(injected=0.1, found=3, races=4)
    text = calibration("2026-11-20", CalibrationResult(slowdowns=(missed,)))
    assert "not even a slowdown of 10 % was found in every race" in text
    failed_result = CalibrationResult(false_difference_rate=0.2, null_pairs=220, passed=False)
    text = calibration("2026-11-20", failed_result)
    assert "more than chance explains" in text


def test_the_reference_shows_machine_noise_and_no_ceiling(run: MadeRun) -> None:
    run.contender("reference", role="control")
    for rate in (900.0, 1000.0, 1300.0):
        run.trial("reference", rate, gates=failed())
    texts = conclusions_of(run)
    assert "ceiling" not in texts
    assert "reference by -10.0 to +30.0 % around 1,000 requests/s" in texts["noise"]


def test_states_for_how_many_looks_the_intervals_hold(run: MadeRun) -> None:
    run.race({"a": 9000, "b": 3000})
    assert "it was not a declared one" in conclusions_of(run)["method"]
    run.end(share=0.4)
    assert (
        "over all declared looks (this one spends 40 % of the allowed error)"
        in conclusions_of(run)["method"]
    )
    fixed = MadeRun(run.store, protocol=QUICK)
    fixed.race({"a": 9000, "b": 3000})
    assert "look" not in conclusions_of(fixed)["method"]


def test_explains_comparison_across_heats(run: MadeRun) -> None:
    run.contender("null-server", role="control")
    for heat, name in ((1, "a"), (2, "b")):
        run.race({"null-server": 90000, name: 9000}, heat=heat)
    texts = conclusions_of(run)["method"]
    assert "over 48 blocks in 3 fresh starts" in texts
    assert "2 heats, because not all contenders fit into memory together" in texts


TWO = {"a": 1020.0, "b": 1000.0}
NARROW = {**SETTLE, "stopping": {**SETTLE["stopping"], "margin": 0.0001}}


def undecided(folder: Path, rates: dict[str, float] = TWO) -> RunView:
    run = made_run(folder / "runs.sqlite")
    run.race(rates, noise=0.06)
    return run.ended(why="budget spent")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return undecided(tmp_path_factory.mktemp("two"))


def alike(folder: Path) -> RunView:
    """Two servers of the same rate, of which now one and now the other is faster."""
    run = made_run(folder / "runs.sqlite", protocol=NARROW)
    for name in ("a", "b", "c"):
        run.contender(name)
    for at, (invocation, block) in enumerate(itertools.product(range(1, 4), range(1, 9))):
        place = {"invocation": invocation, "block": block, "at_s": 2.0 * at}
        run.trial("a", 1000.0, **place)
        run.trial("b", 1000.0 * (1.1 if block % 2 else 1 / 1.1), **place)
        run.trial("c", 100.0, **place)
    return run.ended(why="budget spent")


def open_points(view: RunView, source: str = "--from run.deadheat") -> list[Point]:
    every = points(view, analyze(view), source)
    return [point for point in every if point.topic == "OPEN"]


def minutes_of(command: str) -> int:
    match = re.search(r"(?:--budget|--more) (\d+)m", command)
    assert match, command
    return int(match[1])


def test_a_pair_that_an_hour_settles_has_its_time(two: RunView) -> None:
    (pair,) = open_points(two)
    minutes = minutes_of(pair.command)
    assert minutes <= 60
    assert pair.figures.endswith(f"{minutes} min:")


def test_a_closer_pair_has_the_difference_that_an_hour_settles(tmp_path: Path) -> None:
    view = alike(tmp_path)
    (pair,) = open_points(view)
    least = re.search(r"  below (\d+\.\d) %: too close to settle in an hour$", pair.figures)
    margin = re.search(r"--margin (\d+)%", pair.command)
    assert least
    assert margin, "an hour decides it"
    assert float(least[1]) <= int(margin[1]) <= 10
    assert minutes_of(pair.command) <= 60


def test_json_has_the_time_and_the_difference(tmp_path: Path) -> None:
    document = json.loads(report.write(alike(tmp_path), "json"))
    assert document["run"]["reasonable_s"] == 3600
    pairs = {pair["verdict"]: pair for pair in document["levels"][0]["pairs"]}
    assert pairs["undecided"]["decided_after_s"] > 3600
    assert 0 < pairs["undecided"]["least_difference"] < 1
    assert pairs["separated"]["decided_after_s"] is None
    assert pairs["separated"]["least_difference"] is None


def test_two_of_many_need_less_time_than_a_race_of_all(tmp_path: Path, two: RunView) -> None:
    (pair,) = open_points(two)
    others = {f"c{n}": 500.0 / 2**n for n in range(8)}
    first, *_ = open_points(undecided(tmp_path, TWO | others))
    assert minutes_of(first.command) < 20 * minutes_of(pair.command)
    assert "c0" not in first.command


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--connections", "10,100"], "--connections 10,100"),
        (["-c", "10", "--close"], "-c 10 --close"),
        (["--asleep"], "--asleep"),
        (["--connections=10", "--budget", "5m"], "--connections=10"),
        (["--server-host", "lab@192.0.2.1"], "--server-host lab@192.0.2.1"),
    ],
)
def test_the_command_keeps_what_the_run_measured(two: RunView, words: list[str], kept: str) -> None:
    view = replace(two, command=("deadheat", "run", "a", "b", *words))
    (pair,) = open_points(view)
    assert kept in pair.command
    assert pair.command.count("--budget") == 1


@pytest.mark.parametrize("source", ["ab12", "--from run.deadheat"])
@pytest.mark.parametrize(
    "where",
    [
        ["--isolate"],
        ["--runtime", "podman", "--base-image", "debian:12"],
        ["--server-host", "lab@192.0.2.1", "--load-host", "."],
    ],
)
def test_bug_the_next_step_left_out_where_the_run_was_measured(
    two: RunView, where: list[str], source: str
) -> None:
    """A run with more time was refused, or went on without isolation."""
    view = replace(two, command=("deadheat", "run", "a", "b", *where))
    (pair,) = open_points(view, source)
    verb = "run" if source.startswith("--") else "resume"
    assert pair.command.startswith(f"deadheat {verb} ")
    assert " ".join(where) in pair.command


def test_bug_the_next_step_left_out_settings_and_workers(two: RunView) -> None:
    """It raced every server of the command again for a setting, and one server for workers."""
    command = ("deadheat", "run", "a", "b", "c", "--workers", "1,2")
    view = replace(two, command=command)
    first, second = view.contenders
    of_one = replace(second, name="a:fast", server="a", setting="fast")
    in_settings = replace(view, contenders=(first, of_one))
    assert run_anew(in_settings, ["a", "a:fast"], []) == "deadheat run a a:fast"
    of_one = replace(second, name="a:w2", server="a", workers=2)
    assert run_anew(replace(view, contenders=(first, of_one)), ["a", "a:w2"], []) == (
        "deadheat run a b c --workers 1,2"
    )


def test_bug_the_next_step_gave_streams_to_a_connection_for_each_request(tmp_path: Path) -> None:
    request = {"path": "/", "expect": {"status": 200}}
    kept, closed = (
        {"name": name, "about": "a", "close": name == "connect", "requests": [request]}
        for name in ("hello", "connect")
    )
    load = {"transports": ["h2c"], "streams": 10, "workloads": [kept, closed]}
    command = ("deadheat", "run", "a", "b", "--workload", "hello,connect", "--streams", "10")
    run = made_run(tmp_path / "runs.sqlite", protocol={**SETTLE, **load}, command=command)
    for workload in ("hello:h2c", "connect:h2c"):
        run.race({"a:h2c": 1020.0, "b:h2c": 1000.0}, workload=workload)
    view = run.ended()
    assert "--streams 10" in run_anew(view.on("hello:h2c"), ["a", "b"], [])
    assert "--streams" not in run_anew(view.on("connect:h2c"), ["a", "b"], [])
