"""Each defect, found where it is and not found where it is not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deadheat.audit.case import Case, Defect
from deadheat.audit.defects import aggregate, connections, counting, limits, rows
from deadheat.audit.defects.all import FAMILIES, find_defects
from deadheat.protocol import load_protocol
from deadheat.protocol.figures import shipped_figures
from tests.audit.made import case, contender, figure, protocol, replay, trial

HERE = Path(__file__).resolve().parents[2]
CLEAN = case(
    [contender("A", [100.0, 100.5, 99.5]), contender("B", [50.0, 50.2, 49.8])],
    [figure("A", 400), figure("B", 200)],
    protocol=protocol(aggregate="mean"),
)


def only(found: Iterator[Defect]) -> Defect:
    (defect,) = found
    return defect


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_clean_comparison_has_none(family: Callable[[Case], Iterator[Defect]]) -> None:
    assert list(family(CLEAN)) == []


def test_read_errors_as_many_as_requests_are_closed_connections() -> None:
    published = [figure("A", 400, requests=4000, errors_read=3999), figure("B", 200)]
    contenders = [contender("A", [100]), contender("B", [50], behavior={"keep_alive": False})]
    found = only(connections.per_connection(case(contenders, published)))
    assert found.rows == ("A", "B")
    assert "then 3,999 read errors in 4,000 requests" in found.found
    assert "B: ours closes after each response" in found.found


def test_a_protocol_of_a_connection_per_request_measures_all_alike() -> None:
    contenders = [contender("A", [100], behavior={"keep_alive": False})]
    made = case(contenders, [figure("A", 400)], protocol=protocol(keep_alive=False))
    assert list(connections.per_connection(made)) == []


def test_dropped_connections_are_unserved() -> None:
    starved = trial(100, gates_failed={"listen_drops": 123.0})
    contenders = [contender("A", [], trials=(starved,)), contender("B", [50])]
    published = [figure("A", 400), figure("B", 200, errors_timeout=3)]
    found = only(connections.unserved(case(contenders, published)))
    assert found.rows == ("A", "B")
    assert "A at 100: now up to 123 connections dropped" in found.found
    assert "B at 100: then 3 timeouts" in found.found


def test_unequal_workers_are_weighed_by_the_cpu_they_used() -> None:
    four = contender("A", [], workers=4, trials=(trial(200, cpus_used=4.0),))
    found = only(
        rows.workers(case([four, contender("B", [100])], [figure("A", 4), figure("B", 2)]))
    )
    assert "1: B; 4: A" in found.found
    assert "between 1.00 CPUs (B) and 4.00 (A)" in found.changes
    assert "tau-b -1.00" in found.changes  # B is the faster per CPU


def test_unequal_payloads_then_and_now() -> None:
    published = [
        figure("A", 4, requests=10, bytes_read=800.0),
        figure("B", 2, requests=10, bytes_read=2000.0),
    ]
    contenders = [contender("A", [1], behavior={"head_bytes": 60}), contender("B", [2])]
    found = only(rows.payload(case(contenders, published)))
    assert "a response then took 80 bytes (A) to 200 (B)" in found.found
    assert "the head of ours takes 60 bytes (A) to 100 (B)" in found.found


def test_a_rate_of_exceptions_is_no_rate() -> None:
    """Jetty 6 at 1000 connections: 1398 requests/s printed, some 360 answered."""
    raw = shipped_figures(HERE, "landshark-2009-repetitions")
    made = Case.of(
        replay([], protocol=protocol(aggregate="mean")),
        shipped_figures(HERE, "landshark-2009"),
        raw,
    )
    found = only(counting.errors_counted(made))
    assert "Jetty 6" in found.rows
    assert "then Jetty 6 at 1,000, repetition 3: 1,398 requests/s printed, 360" in found.found


def test_failures_of_today_are_told_read_errors_apart() -> None:
    failing = trial(100, errors={"exceptions": 50})
    closing = trial(100, errors={"read": 1000})
    contenders = [contender("A", [], trials=(failing,)), contender("B", [], trials=(closing,))]
    found = only(counting.errors_counted(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert found.rows == ("A",)
    assert "50 of 1,000 failed" in found.found


def test_the_cap_that_ab_implies() -> None:
    landshark = load_protocol(HERE, "landshark-2009")
    made = Case.of(
        replay([contender("Tornado", [6000.0])], protocol=landshark),
        shipped_figures(HERE, "landshark-2009"),
        shipped_figures(HERE, "landshark-2009-repetitions"),
    )
    found = only(counting.request_cap(made))
    assert found.rows == ("Fapws", "Tornado")
    assert "10 repetitions of Fapws" in found.found
    assert "within 10 s: Tornado" in found.found


def test_the_best_of_three_flatters_scatter() -> None:
    contenders = [contender("A", [100, 100, 150]), contender("B", [110, 110, 110])]
    found = only(aggregate.best_of(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert "in A 50.0 %" in found.found
    assert "0.85 standard deviations" in found.changes
    assert "tau-b -1.00" in found.changes


def test_one_sample_of_three_may_have_decided_the_order() -> None:
    contenders = [contender("A", [100, 110, 105]), contender("B", [50, 55, 52])]
    published = [figure("A", 104), figure("B", 100), figure("C", 50)]
    made = case(contenders, published, protocol=protocol(origin={"aggregate_stated": False}))
    found = only(aggregate.one_sample(made))
    assert "10.0 % apart" in found.found
    assert "1 of 2 neighboring pairs" in found.changes


def test_a_dropped_trial_and_a_misprint_are_told_apart() -> None:
    """modwsgi at 20,000 lacks its slowest of four; PHP 5 at 10,000 has a wrong digit."""
    made = Case.of(
        replay([], protocol=load_protocol(HERE, "landshark-2009")),
        shipped_figures(HERE, "landshark-2009"),
        shipped_figures(HERE, "landshark-2009-repetitions"),
    )
    found = {(one.code, one.rows[0], one.connections[0]): one for one in aggregate.wrong_mean(made)}
    dropped = found["dropped_trial", "modwsgi", 20_000]
    assert "repetition 3 of 4 is left out" in dropped.changes
    assert ("misprint", "PHP 5", 10_000) in found
    assert ("misprint", "Jetty 6", 1000) in found
    assert len(found) <= 4


def test_neighbours_within_their_scatter_are_unresolved() -> None:
    contenders = [contender("A", [100, 110, 90]), contender("B", [101, 111, 91])]
    found = only(aggregate.unresolved(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert "in the replay 1 of 1" in found.found


def test_a_slow_first_repetition_is_a_cold_start() -> None:
    contenders = [contender("A", [50, 100, 102]), contender("B", [100, 100, 101])]
    found = only(aggregate.cold_start(case(contenders, [figure("A", 4), figure("B", 2)])))
    assert found.rows == ("A",)
    assert "in 1 of 2 rows" in found.found


def test_a_tie_at_the_top_that_more_connections_part_is_the_closed_loops() -> None:
    made = Case.of(replay([]), shipped_figures(HERE, "kzmake-2018"), None)
    found = only(limits.closed_loop(made))
    assert len(found.rows) == 4
    assert found.connections == (100,)
    assert "0.55 ms a round" in found.changes


def test_rows_near_the_null_server_are_the_clients() -> None:
    null = contender("null-server", [120.0], role="control")
    contenders = [contender("A", [100]), contender("B", [50])]
    made = case(contenders, [figure("A", 4), figure("B", 2)], null_server=null)
    assert only(limits.client(made)).rows == ("A",)


def test_restarted_rows_and_untold_rows() -> None:
    made = Case.of(
        replay([], protocol=load_protocol(HERE, "landshark-2009")),
        shipped_figures(HERE, "landshark-2009"),
        shipped_figures(HERE, "landshark-2009-repetitions"),
    )
    assert only(rows.restarts(made)).rows == ("PHP 5", "Tomcat 6", "Jetty 6")
    assert only(rows.untold(made)).rows == ("WEBrick",)


def test_every_defect_says_how_it_was_found_and_what_it_changes() -> None:
    for name in ("kzmake-2018", "woo-2016", "landshark-2009", "costajob-2020"):
        figures = shipped_figures(HERE, name)
        single = shipped_figures(HERE, f"{name}-repetitions") if name[0] == "l" else None
        rows = [contender(row, [100.0 + 3 * n, 90.0, 95.0]) for n, row in enumerate(figures.rows)]
        found = find_defects(
            Case.of(replay(rows, protocol=load_protocol(HERE, name)), figures, single)
        )
        assert found
        assert all(defect.found and defect.changes and defect.connections for defect in found)
