"""A short form of `python -m bench.faults`."""

import math
import random
from pathlib import Path

import pytest

from bench.faulted import chain, moody, transports
from bench.faulted.attempt import Outcome as Attempt
from bench.faulted.matrix import MOMENTS, Fault, faults, fewest_first
from bench.faulted.modes import OTHER_CERTIFICATE, RACE_VERDICTS
from bench.faulted.moody_transports import ALWAYS, FRAMES, HANDSHAKES, OWN
from bench.faults import Outcome, failed_chains, new_chains, read, run, table, write

SHORT = [  # two races at the same time, each disturbed and resumed, and each completed at the end
    ([Fault("cli", "KILL", "store"), Fault("agent", "KILL", "slice")], 1),
    ([Fault("master", "KILL", "start"), Fault("engine", "KILL", "warm-up")], 2),
]
TRANSPORTED = [  # a server that does wrong, one that may, and one with another certificate
    ([Fault("h2c", "PING flood", "any")], 3),
    ([Fault("h2", "GOAWAY now and then", "any")], 4),
    ([Fault("https", "certificate for another name", "any")], 5),
]
CASE = {"target": "cli", "signal": "KILL", "moment": "slice", "inside": True, "trials": 7}
CASE |= {"containment": "subreaper", "failures": ["lost trials [3]"], "seed": 5}
CASE |= {"version": "1.0 at abc"}


@pytest.mark.alone
def test_nothing_is_lost_and_nothing_is_left() -> None:
    cases, stopped = run(SHORT, jobs=2, end_s=math.inf)
    assert len(cases) + stopped >= 2
    assert [case for case in cases if case["failures"]] == []


@pytest.mark.alone
def test_servers_that_misbehave_over_a_transport_are_named() -> None:
    cases, stopped = run(TRANSPORTED, jobs=2, end_s=math.inf)
    assert len(cases) + stopped == len(TRANSPORTED)
    assert [case for case in cases if case["failures"]] == []


def test_each_mode_over_a_transport_has_a_verdict_and_a_server() -> None:
    modes = {verdict.server_mode or mode for mode, verdict in RACE_VERDICTS.items()}
    known = {*moody.MODES, *FRAMES, *OWN, *HANDSHAKES, *ALWAYS, "HTTP/2 unasked"}
    assert modes <= known
    assert {*FRAMES, *OWN, *HANDSHAKES, *ALWAYS, OTHER_CERTIFICATE} <= modes


@pytest.mark.parametrize(
    ("signal", "errors", "valid", "failure"),
    [
        ("503 later", {"status": 3}, False, None),
        ("503 later", {}, False, "expected status"),
        ("503 later", {"status": 3}, True, "each trial is valid"),
        ("trailers", {"malformed": 1}, False, "expected no error"),
        ("trailers", {}, True, None),
    ],
)
def test_a_race_has_to_say_what_its_server_did(
    signal: str, errors: dict[str, int], valid: bool, failure: str | None
) -> None:
    trial = {"errors": errors, "valid": valid, "state": "ok", "reason": None, "at_s": 1.0}
    levels = [{"trials": [trial | {"gates_failed": []}]}]
    document = {"contenders": [{"role": "contender", "fault": None, "levels": levels}]}
    fault = Fault("h2", signal, "any")
    said = transports.wrong(fault, Attempt(code=0, inside=True), document)
    assert [each.partition(":")[0] for each in said] == ([failure] if failure else [])


def test_a_race_that_cannot_begin_is_a_failed_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: with a broken protocol, the matrix had 0 cases and none failed."""
    protocol = tmp_path / "broken.toml"
    protocol.write_text("rounds = 0\n")
    monkeypatch.setattr(chain, "NEW", ("run", "alpha", "beta", "--protocol", str(protocol)))
    cases, _ = run([([Fault("cli", "KILL", "slice")], 1)], jobs=1, end_s=math.inf)
    assert "exit code 2: error: " in cases[0]["failures"][0]


def test_matrix_has_each_fault_only_once() -> None:
    listed = faults()
    assert len({*listed}) == len(listed)
    assert {fault.moment for fault in listed} == {*MOMENTS}


def test_faults_with_the_fewest_cases_come_first() -> None:
    counted = {fault: 1 for fault in faults() if fault.moment != "store"}
    moments = [fault.moment for fault in fewest_first(counted, random.Random(1))]
    stores = moments.count("store")
    assert set(moments[:stores]) == {"store"}


def test_table_counts_cases_and_failures() -> None:
    shown = table([CASE, CASE | {"failures": []}]).splitlines()
    assert shown[1].split() == ["cli", "KILL", "2", "(1!)"]
    assert shown[3] == "2 cases, 2 of them within the moment; 1 failed"
    assert shown[-2] == "14 acknowledged trials checked; 1 cases lost one, 0 left something"
    assert shown[-1] == "by version: 1.0 at abc: 2"


def test_modes_of_a_transport_are_one_row() -> None:
    modes = [CASE | {"target": "h2", "signal": signal, "moment": "any"} for signal in "ab"]
    assert table([*modes, modes[0]]).splitlines()[1].split() == ["h2", "2", "modes", "3", "(3!)"]


def test_a_fault_names_the_part_that_it_hits() -> None:
    fault = Fault("regress agent", "KILL", "slice")
    assert (fault.kind, fault.part) == ("regress", "agent")


def test_a_seed_gives_the_same_chains_again() -> None:
    first, second = (new_chains(40, random.Random(3)) for _ in range(2))
    assert first == second
    assert sum(len(chain) for chain, _ in first) == 40


def test_only_the_chains_that_failed_are_repeated_whole() -> None:
    good = CASE | {"moment": "stop", "failures": []}
    chains = failed_chains([CASE, good, good | {"seed": 6}])
    assert chains == [([Fault("cli", "KILL", "slice"), Fault("cli", "KILL", "stop")], 5)]


def test_a_file_keeps_the_cases_and_where_they_come_from(tmp_path: Path) -> None:
    outcome = Outcome([CASE], [{"seed": 1, "command": "python -m bench.faults", "cases": 1}])
    write(tmp_path / "faults.json", outcome)
    assert read(tmp_path / "faults.json") == outcome
