import pytest

from deadheat.audit.beside import agree, between_replays, set_beside
from tests.audit.made import contender, figure, figures, protocol, replay, trial

PUBLISHED = figures(figure("A", 400), figure("B", 300), figure("C", 200), figure("D", None))


def test_pairs_each_row_with_its_contender() -> None:
    (level,) = set_beside(
        replay([contender("A", [100, 110, 120]), contender("C", [150, 160, 155])]), PUBLISHED
    )
    a, b, c, d = level.lines
    assert (a.row, a.then_per_s, a.now_per_s) == ("A", 400, 120)
    assert a.ratio == pytest.approx(0.3)
    assert a.low is not None
    assert a.high is not None
    assert a.low < 110 / 400 < a.high
    assert (a.rank_then, a.rank_now, a.moved) == (1, 2, -1)
    assert (c.rank_then, c.rank_now, c.moved) == (2, 1, 1)  # among the rows that have both
    assert (b.now_per_s, b.ratio, b.rank_then, b.why) == (None, None, None, "not in this run")
    assert (d.then_per_s, d.rank_then) == (None, None)
    assert [line.row for line in level.moved_most(9)] == ["A", "C"]


@pytest.mark.parametrize(("aggregate", "now"), [("best", 130), ("mean", 110), ("median", 100)])
def test_ranks_by_the_protocols_aggregate(aggregate: str, now: float) -> None:
    run = replay([contender("A", [100, 130, 100])], protocol=protocol(aggregate=aggregate))
    (level,) = set_beside(run, PUBLISHED)
    assert level.lines[0].now_per_s == pytest.approx(now)


def test_gives_the_reason_for_a_missing_figure() -> None:
    contenders = [
        contender("A", [], fault="it could not be built\nlog"),
        contender("B", [], trials=(trial(None),)),
    ]
    (level,) = set_beside(replay(contenders, missing={"C": "no server"}), PUBLISHED)
    reasons = {line.row: line.why for line in level.lines}
    assert reasons == {
        "A": "it could not be built",
        "B": "it died",
        "C": "no server",
        "D": reasons["D"],
    }
    assert level.agreement is None


def test_equal_rates_share_the_better_rank() -> None:
    contenders = [contender("A", [100]), contender("B", [200]), contender("C", [200])]
    (level,) = set_beside(replay(contenders), PUBLISHED)
    assert [line.rank_now for line in level.lines if line.rank_now] == [3, 1, 1]


def test_takes_the_faster_of_two_contenders_for_a_row() -> None:
    contenders = [contender("A", [100], name="slow"), contender("A", [200], name="fast")]
    (level,) = set_beside(replay(contenders), PUBLISHED)
    assert level.lines[0].contender == "fast"


def test_agreement_has_an_interval() -> None:
    perfect = agree([1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60])
    assert perfect is not None
    assert perfect.tau_b == 1
    assert perfect.low < 1
    assert agree([1], [1]) is None


def test_two_replays_are_compared_over_the_rows_they_share() -> None:
    first = replay([contender("A", [3]), contender("B", [2]), contender("C", [1])])
    second = replay([contender("A", [30]), contender("B", [10]), contender("E", [50])])
    (agreement,) = between_replays(first, second).values()
    assert agreement is not None
    assert (agreement.tau_b, agreement.rows) == (1, 2)
