"""Each defect is found if it is there, and only then."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deadheat.audit.beside import Case
from deadheat.audit.defects import FAMILIES, aggregate, counting, find_defects, setup
from deadheat.audit.replay import ReplayedContender
from deadheat.protocol import load_protocol
from deadheat.protocol.figures import shipped_figures
from deadheat.report.model.evidence import Defect
from deadheat.store.json_columns import Behavior
from tests.audit.made import case, contender, figure, protocol, replay, trial

HERE = Path(__file__).resolve().parents[2]
CLEAN = case(
    [contender("A", [100.0, 100.5, 99.5]), contender("B", [50.0, 50.2, 49.8])],
    [figure("A", 400), figure("B", 200)],
    protocol=protocol(aggregate="mean"),
)


def landshark(*contenders: ReplayedContender) -> Case:
    """A replay of these, with the figures and the repetitions that were published."""
    return Case(
        replay(contenders, protocol=load_protocol(HERE, "landshark-2009")),
        shipped_figures(HERE, "landshark-2009"),
        shipped_figures(HERE, "landshark-2009-repetitions"),
    )


def only(defects: Iterator[Defect]) -> Defect:
    (defect,) = defects
    return defect


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_clean_comparison_has_no_defects(family: Callable[[Case], Iterator[Defect]]) -> None:
    assert list(family(CLEAN)) == []


def test_detects_connections_closed_after_each_response() -> None:
    published = [figure("A", 400, requests=4000, errors_read=3999), figure("B", 200)]
    contenders = [contender("A", [100]), contender("B", [50], behavior=Behavior(keep_alive=False))]
    defect = only(counting.per_connection(case(contenders, published)))
    assert defect.rows == ("A", "B")
    assert "then 3,999 read errors in 4,000 requests" in defect.found
    assert "B: our server closes after each response" in defect.found


def test_accepts_connections_per_request_if_the_protocol_asks_for_them() -> None:
    contenders = [contender("A", [100], behavior=Behavior(keep_alive=False))]
    made = case(contenders, [figure("A", 400)], protocol=protocol(keep_alive=False))
    assert list(counting.per_connection(made)) == []


def test_detects_dropped_connections() -> None:
    starved = trial(100, gates_failed={"listen_drops": 123.0})
    contenders = [contender("A", [], trials=(starved,)), contender("B", [50])]
    published = [figure("A", 400), figure("B", 200, errors_timeout=3)]
    defect = only(counting.unserved(case(contenders, published)))
    assert defect.rows == ("A", "B")
    assert "A at 100: now up to 123 connections in a trial dropped" in defect.found
    assert "B at 100: then 3 timeouts" in defect.found


def test_detects_unequal_worker_counts() -> None:
    four = contender("A", [], workers=4, trials=(trial(200, cpus_used=4.0),))
    defect = only(
        setup.workers(case([four, contender("B", [100])], [figure("A", 4), figure("B", 2)]))
    )
    assert "1: B; 4: A" in defect.found
    assert "from 1.00 CPUs (B) to 4.00 (A)" in defect.changes
    assert "tau-b -1.00" in defect.changes  # B is the faster per CPU


def test_detects_unequal_responses() -> None:
    published = [
        figure("A", 4, requests=10, bytes_read=800.0),
        figure("B", 2, requests=10, bytes_read=2000.0),
    ]
    contenders = [contender("A", [1], behavior=Behavior(head_bytes=60)), contender("B", [2])]
    defect = only(setup.payload(case(contenders, published)))
    assert "a response then had 80 bytes (A) to 200 (B)" in defect.found
    assert "the head of our servers' responses has 60 bytes (A) to 100 (B)" in defect.found


def test_detects_exceptions_counted_as_requests() -> None:
    """Jetty 6 at 1000 connections: 1398 requests/s printed, some 360 answered."""
    defect = only(counting.errors_counted(landshark()))
    assert "Jetty 6" in defect.rows
    assert "then Jetty 6 at 1,000, repetition 3: 1,398 requests/s printed, 360" in defect.found


def test_detects_failures_but_not_read_errors() -> None:
    failing = trial(100, errors={"exceptions": 50})
    closing = trial(100, errors={"read": 1000})
    contenders = [contender("A", [], trials=(failing,)), contender("B", [], trials=(closing,))]
    defect = only(counting.errors_counted(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert defect.rows == ("A",)
    assert "50 of 1,000 failed" in defect.found


def test_detects_the_request_cap_of_ab() -> None:
    defect = only(counting.request_cap(landshark(contender("Tornado", [6000.0]))))
    assert defect.rows == ("Fapws", "Tornado")
    assert "10 repetitions of Fapws" in defect.found
    assert "within 10 s: Tornado" in defect.found


def test_detects_best_of_three() -> None:
    contenders = [contender("A", [100, 100, 150]), contender("B", [110, 110, 110])]
    defect = only(aggregate.best_of(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert "for A 50.0 %" in defect.found
    assert "0.85 standard deviations" in defect.changes
    assert "tau-b -1.00" in defect.changes


def test_detects_a_single_published_repetition() -> None:
    contenders = [contender("A", [100, 110, 105]), contender("B", [50, 55, 52])]
    published = [figure("A", 104), figure("B", 100), figure("C", 50)]
    made = case(contenders, published, protocol=protocol(origin={"aggregate_stated": False}))
    defect = only(aggregate.one_sample(made))
    assert "10.0 % apart" in defect.found
    assert "1 of 2 neighboring pairs" in defect.changes


def test_distinguishes_a_dropped_trial_from_a_misprint() -> None:
    """modwsgi at 20,000 lacks its slowest of four; PHP 5 at 10,000 has a wrong digit."""
    defects = {
        (defect.code, defect.rows[0], defect.connections[0]): defect
        for defect in aggregate.wrong_mean(landshark())
    }
    dropped = defects["dropped_trial", "modwsgi", 20_000]
    assert "leaves out repetition 3 of 4" in dropped.changes
    assert ("misprint", "PHP 5", 10_000) in defects
    assert ("misprint", "Jetty 6", 1000) in defects
    assert len(defects) <= 4


def test_detects_unresolved_neighbors() -> None:
    contenders = [contender("A", [100, 110, 90]), contender("B", [101, 111, 91])]
    defect = only(aggregate.unresolved(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert "1 of 1 pairs in the replay" in defect.found


def test_detects_a_cold_start() -> None:
    contenders = [contender("A", [50, 100, 102]), contender("B", [100, 100, 101])]
    defect = only(aggregate.cold_start(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert defect.rows == ("A",)
    assert "in 1 of 2 rows" in defect.found


def test_detects_the_closed_loop_bound() -> None:
    made = Case(replay([]), shipped_figures(HERE, "kzmake-2018"))
    defect = only(setup.closed_loop(made))
    assert len(defect.rows) == 4
    assert defect.connections == (100,)
    assert "0.55 ms for each round trip" in defect.changes


def test_detects_rows_near_the_clients_ceiling() -> None:
    null = contender("null-server", [120.0])
    idle = contender("A", [], trials=(trial(100.0, cpus_used=0.8),))
    made = case([idle, contender("B", [50])], [figure("A", 4), figure("B", 2)], null_server=null)
    assert only(setup.client(made)).rows == ("A",)


def test_a_saturated_server_is_not_limited_by_the_client() -> None:
    null = contender("null-server", [120.0])
    busy = contender("A", [], trials=(trial(100.0, cpus_used=0.97),))
    made = case([busy], [figure("A", 4)], null_server=null)
    assert [*setup.client(made)] == []


def test_detects_unequal_restarts_and_unlisted_rows() -> None:
    assert only(setup.restarts(landshark())).rows == ("PHP 5", "Tomcat 6", "Jetty 6")
    assert only(setup.missing_rows(landshark())).rows == ("WEBrick",)


def test_every_defect_has_evidence_and_effect() -> None:
    for name in ("kzmake-2018", "woo-2016", "landshark-2009", "costajob-2020"):
        figures = shipped_figures(HERE, name)
        single = shipped_figures(HERE, f"{name}-repetitions") if name[0] == "l" else None
        rows = [contender(row, [100.0 + 3 * n, 90.0, 95.0]) for n, row in enumerate(figures.rows)]
        defects = find_defects(
            Case(replay(rows, protocol=load_protocol(HERE, name)), figures, single)
        )
        assert defects
        assert all(defect.found and defect.changes and defect.connections for defect in defects)
