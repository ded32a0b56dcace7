"""A short form of `python -m bench.faults`."""

import random

from bench.faulted.matrix import MOMENTS, Fault, faults, fewest_first
from bench.faults import run, table


def test_nothing_is_lost_and_nothing_is_left() -> None:
    cases = run(kills=4, minutes=2, seed=random.randrange(2**32), jobs=2, only="KILL")
    assert cases
    assert [case for case in cases if case["failures"]] == []


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
    case = {"target": "cli", "signal": "KILL", "moment": "slice", "inside": True, "trials": 7}
    case |= {"containment": "subreaper", "failures": ["lost trials [3]"]}
    shown = table([case, case | {"failures": []}]).splitlines()
    assert shown[1].split() == ["cli", "KILL", "2", "(1!)"]
    assert shown[3] == "2 cases, 2 of them within the moment; 1 failed"
    assert shown[-1] == ("14 acknowledged trials checked; 1 cases lost one, 0 left something")


def test_a_fault_names_the_part_that_it_hits() -> None:
    fault = Fault("regress agent", "KILL", "slice")
    assert (fault.kind, fault.part) == ("regress", "agent")
