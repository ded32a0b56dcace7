"""Races that spent their budget and get more time, in a world without processes."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from deadheat.errors import DeadheatError
from deadheat.host import HostError
from deadheat.report.findings.analysis import verdicts_of
from deadheat.report.model.load import load_view
from deadheat.stats.ranking.alpha_spending import Looks
from deadheat.stats.ranking.decision import Verdict
from deadheat.store import Store
from deadheat.workload import Level
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import sliced

BUDGET_S = 60


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    """Two servers that are too alike for the budget, and one far behind."""
    fake = FakeWorld(tmp_path, fast=3000, middle=2990, slow=1000)
    fake.noise = 0.2
    return fake


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeWorld, str]:
    """A race that spent its budget, and its id: most tests begin with a copy of it."""
    folder = tmp_path_factory.mktemp("spent")
    fake = FakeWorld(folder, fast=3000, middle=2990, slow=1000)
    fake.noise = 0.2
    return fake, fake.conduct(sliced())


@pytest.fixture
def run_id(fake: FakeWorld, spent: tuple[FakeWorld, str]) -> str:
    """The run that spent its budget, now in the store of `fake`."""
    other, run_id = spent
    shutil.copy(other.path, fake.path)
    fake.add_controls()
    return run_id


def extend(fake: FakeWorld, run_id: str, more_s: float) -> None:
    with Store(fake.path) as store:
        decided = verdicts_of(load_view(store, run_id))
    fake.resume(run_id, lambda left: left.extended(more_s, decided))


def test_an_extension_measures_only_what_is_open_and_ends_in_time(
    fake: FakeWorld, run_id: str
) -> None:
    assert fake.conclusion()["why"] == "budget spent"
    before = fake.trials()
    extend(fake, run_id, 30)
    after = fake.trials()
    assert after[: len(before)] == before
    added = after[len(before) :]
    assert {trial["name"] for trial in added} == {"fast", "middle", "null-server", "reference"}
    end_s = max(trial["at_s"] + trial["elapsed_s"] for trial in added)
    assert BUDGET_S < end_s <= BUDGET_S + 30 + 1
    assert fake.left_running() == []


def test_an_extension_has_one_look_with_half_of_the_error_that_is_left(
    fake: FakeWorld, run_id: str
) -> None:
    first = fake.conclusion()
    extend(fake, run_id, 20)
    second = fake.conclusion()
    assert second["share"] == Looks().reserve / 2
    assert second["resumed"][0] | {"more_s": 20, "share": first["share"]} == second["resumed"][0]
    assert second["resumed"][0]["look"] == first["look"]
    extend(fake, run_id, 20)
    third = fake.conclusion()
    assert third["share"] == Looks().reserve / 4
    assert [entry["more_s"] for entry in third["resumed"]] == [20, 20]


def test_what_was_decided_stays_decided(fake: FakeWorld, run_id: str) -> None:
    with Store(fake.path) as store:
        before = verdicts_of(load_view(store, run_id))[Level("hello", 10)]
    assert before
    extend(fake, run_id, 20)
    with Store(fake.path) as store:
        after = verdicts_of(load_view(store, run_id))[Level("hello", 10)]
    assert before.items() <= after.items()


def test_bug_an_extension_over_another_transport_forgot_what_was_decided(tmp_path: Path) -> None:
    """A report names servers without their transport, and a race with it."""
    fake = FakeWorld(tmp_path, fast=3000, middle=2850, slow=1000)
    fake.noise = 0.2
    fake.over_h2c()
    run_id = fake.conduct(sliced(transports=["h2c"]))
    assert fake.conclusion()["why"] == "budget spent"
    decided = {Level("hello:h2c", 10): {("fast", "middle"): Verdict.SEPARATED}}
    fake.resume(run_id, lambda left: left.extended(5, decided))
    assert fake.conclusion()["why"] == "settled"


def test_an_interrupted_extension_is_resumed_to_its_own_end(fake: FakeWorld, run_id: str) -> None:
    slices = len(fake.slices)
    with fake.interrupted(lambda *_: len(fake.slices) == slices + 30):
        extend(fake, run_id, 30)
    assert "share" not in fake.conclusion()
    fake.resume(run_id)
    ended = fake.conclusion()
    assert ended["share"] == Looks().reserve / 2
    assert ended["decided"]
    assert max(trial["at_s"] for trial in fake.trials()) > BUDGET_S + 10


def test_refuses_a_settled_run(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    run_id = fake.conduct(sliced())
    with pytest.raises(DeadheatError, match="is settled: no neighboring pair is open"):
        extend(fake, run_id, 30)


def test_refuses_a_run_whose_server_has_changed(
    fake: FakeWorld, run_id: str, tmp_path: Path
) -> None:
    (tmp_path / "servers" / "slow" / "main.c").write_text("int other;\n")
    with pytest.raises(DeadheatError, match="cannot be extended: slow: its build has changed"):
        extend(fake, run_id, 30)


def test_bug_a_resumed_race_took_a_look_again(fake: FakeWorld) -> None:
    """The last trial ends before the look, so the look was not due at the end of the trials."""
    with fake.interrupted(lambda *_: len(fake.slices) == 200):
        run_id = fake.conduct(sliced())
    taken = fake.conclusion()["look"]
    assert taken is not None
    fake.resume(run_id)
    assert fake.conclusion()["resumed"][0]["look"] == taken


def test_bug_a_race_whose_open_contenders_dropped_out_never_ended(fake: FakeWorld) -> None:
    """With no contender left to measure, a block took no time, and the budget was never spent."""

    def refuse(name: str, request: dict[str, Any]) -> None:
        if name in ("fast", "middle") and len(fake.slices) > 400:
            raise HostError("no answer within 20 s")

    fake.before_slice = refuse
    fake.conduct(sliced())
    assert fake.left_running() == []


def test_a_race_that_measured_nothing_measures_all_with_more_time(fake: FakeWorld) -> None:
    """However little: a start takes longer here than the whole budget, and than what is added."""
    fake.start_slowly(4)
    fake.add_controls()
    run_id = fake.conduct(sliced(stopping={"kind": "settle", "invocations": 1, "budget_s": 3}))
    assert (fake.trials(), fake.conclusion()["why"]) == ([], "budget spent")
    extend(fake, run_id, 1)
    assert {trial["name"] for trial in fake.trials()} == set(fake.rates)
