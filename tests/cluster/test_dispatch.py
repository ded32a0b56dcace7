"""Which job runs where, and what goes back into the queue."""

import pytest

from deadheat.cluster.on_ray import pair_up
from deadheat.cluster.race import ATTEMPTS_MAX, FAILURES_MAX, Dispatch, Job, jobs_of
from deadheat.errors import DeadheatError
from tests.cluster.fake_cluster import BOTH, node


def test_jobs_have_like_sizes_and_fill_the_pairs() -> None:
    jobs = jobs_of([f"s{n}" for n in range(30)], pairs=4, together=6)
    assert len(jobs) == 8
    assert {len(job.servers) for job in jobs} == {3, 4}
    assert sorted(name for job in jobs for name in job.servers) == sorted(
        f"s{n}" for n in range(30)
    )


@pytest.mark.parametrize(
    ("servers", "pairs", "jobs"),
    [(["a", "b"], 5, [("a",), ("b",)]), ([], 2, [(), ()])],  # without own servers, on every pair
)
def test_few_servers_make_a_job_each(
    servers: list[str], pairs: int, jobs: list[tuple[str, ...]]
) -> None:
    assert [job.servers for job in jobs_of(servers, pairs, together=6)] == jobs


def test_every_job_starts_on_an_idle_pair() -> None:
    dispatch = Dispatch(jobs_of(["a", "b", "c"], pairs=2, together=1), 2)
    first = dispatch.starts()
    assert [pair for pair, _ in first] == [0, 1]
    assert dispatch.starts() == []
    dispatch.ended(1, (), failed=False)
    assert [pair for pair, _ in dispatch.starts()] == [1]


def test_a_lost_host_returns_what_it_did_not_measure_and_gets_no_further_job() -> None:
    dispatch = Dispatch([Job(1, ("a", "b", "c")), Job(2, ("d",))], 2)
    dispatch.starts()
    assert dispatch.ended(0, ("a", "b", "shared"), lost=True) == ("a", "b")
    dispatch.ended(1, (), failed=False)
    assert dispatch.starts() == [(1, Job(3, ("a", "b"), attempt=2))]


def test_a_contender_is_given_up_after_the_last_attempt() -> None:
    dispatch = Dispatch([Job(1, ("a",))], ATTEMPTS_MAX)
    for _ in range(ATTEMPTS_MAX):
        (pair, _) = dispatch.starts()[0]
        dispatch.ended(pair, ("a",), failed=True)
    assert dispatch.starts() == []
    assert dispatch.given_up == ["a"]


def test_a_pair_that_fails_again_and_again_is_retired() -> None:
    dispatch = Dispatch([Job(n, (f"s{n}",)) for n in range(5)], 1)
    for number in range(FAILURES_MAX):
        dispatch.starts()
        dispatch.ended(0, (f"s{number}",), failed=True)
    assert 0 not in dispatch.failures
    assert dispatch.starts() == []
    assert len(dispatch.waiting) == 5


def test_a_job_prefers_a_pair_that_did_not_fail() -> None:
    dispatch = Dispatch([Job(1, ("a",)), Job(2, ("b",))], 2)
    dispatch.starts()
    dispatch.ended(0, ("a",), failed=True)
    dispatch.ended(1, (), failed=False)
    assert [pair for pair, _ in dispatch.starts()] == [1]


def test_nodes_of_one_role_that_are_alive_make_pairs_and_a_node_of_both_is_one() -> None:
    couples, left_over = pair_up(
        [
            *(node(5, "load"), node(2, "server"), node(9, *BOTH), node(3, "server")),
            *(node(7, "server"), node(4), node(1, "load", alive=False)),
        ]
    )
    assert [tuple(node["NodeManagerHostname"] for node in couple) for couple in couples] == [
        ("host9", "host9"),
        ("host2", "host5"),
    ]
    assert [each["NodeManagerHostname"] for each in left_over] == ["host3", "host7"]


@pytest.mark.parametrize("role", BOTH)
def test_names_the_role_that_no_node_offers(role: str) -> None:
    other = "load" if role == "server" else "server"
    with pytest.raises(DeadheatError, match=f"no node of the cluster offers {role}") as raised:
        pair_up([node(1, other)])
    assert f'{{"{role}": 1}}' in str(raised.value.hint)
