"""Campaigns in which something dies, does not start or is interrupted."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.campaign.run import Standstills
from deadheat.errors import DeadheatError, StoreError
from deadheat.host import Completed, Exited, HostError, ProcessSpec, RunningServer, Sample
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.measure.contender import Contender
from deadheat.protocol import SliceProtocol
from deadheat.store import Store, TrialRecord
from deadheat.store.listing import run_argument
from tests.campaign.fake_world import GREETING, FakeWorld, greet
from tests.campaign.made_protocols import alone, fixed, sliced


@pytest.mark.parametrize(
    ("server", "fault"),
    [
        (
            FakeServer(dies_after_s=0.01, exit_code=1, log="no configuration\n"),
            "slow ended before it was ready (exit 1)",
        ),
        (
            FakeServer(answer=greet, ready_after_s=100, log="no configuration\n"),
            "slow was not ready within 5 s: it never answered",
        ),
        (
            FakeServer(answer=lambda _: GREETING.replace(b"200", b"502"), log="no configuration\n"),
            "slow was not ready within 5 s: expected status 200, got 502",
        ),
    ],
)
def test_a_server_that_does_not_start_is_reported_and_left_out(
    fake: FakeWorld, server: FakeServer, fault: str
) -> None:
    fake.servers["slow"] = server
    fake.conduct(fixed())
    assert {name for name, _ in fake.order()} == {"fast", "middle"}
    assert len(fake.order()) == 12
    assert fake.rows("SELECT name, fault FROM contender WHERE fault IS NOT NULL") == [
        {"name": "slow", "fault": fault}
    ]
    starts = fake.rows("SELECT fault, log_tail FROM instance WHERE fault IS NOT NULL")
    tries = 3 if "ended" in fault else 1
    assert starts == [{"fault": fault, "log_tail": "no configuration\n"}] * tries
    again = [f"{fault}; it is started again ({number} of 3 times)" for number in (2, 3)]
    assert fake.troubles() == [*again[: tries - 1], f"{fault}\n  | no configuration"]
    assert fake.left_running() == []


def test_a_server_that_was_right_once_only_is_not_measured(fake: FakeWorld) -> None:
    answers = itertools.chain([GREETING], itertools.repeat(b"SSH-2.0\r\n"))
    fake.servers["slow"] = FakeServer(answer=lambda _: next(answers))
    fake.conduct(fixed())
    assert {name for name, _ in fake.order()} == {"fast", "middle"}
    assert fake.troubles() == ["slow is not measured: no readable HTTP response to GET /"]
    assert fake.left_running() == []


def test_a_server_that_dies_while_it_is_warmed(fake: FakeWorld) -> None:
    """Regression: it was frozen all the same, and died once more in its first trial."""
    fake.servers["slow"] = replace(fake.servers["slow"], dies_after_s=0.5, log="bye\n")
    fake.conduct(alone(warmup={"kind": "fixed", "duration_s": 1.0}))
    assert {name for name, _ in fake.order()} == {"fast", "middle"}
    fault = "slow died during its warm-up (exit 0)"
    again = [f"{fault}; it is started again ({number} of 3 times)" for number in (2, 3)]
    assert fake.troubles() == [*again, f"{fault}\n  | bye"]
    assert (
        fake.rows("SELECT fault, log_tail FROM instance WHERE fault IS NOT NULL")
        == [{"fault": fault, "log_tail": "bye\n"}] * 3
    )
    assert fake.left_running() == []


@pytest.mark.parametrize("protocol", [fixed(), sliced()], ids=["fixed", "with controls"])
def test_without_any_server_nothing_is_measured(fake: FakeWorld, protocol: SliceProtocol) -> None:
    """Regression: after the last contender was out, the controls raced on alone."""
    fake.servers = dict.fromkeys(fake.servers, FakeServer(dies_after_s=0.01, exit_code=1))
    with pytest.raises(DeadheatError, match="no contender is left to measure"):
        fake.conduct(protocol)
    assert fake.trials() == []
    unfaulted = "SELECT 1 FROM contender WHERE role = 'contender' AND fault IS NULL"
    assert fake.rows(unfaulted) == []
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]
    assert fake.left_running() == []


def test_a_silent_url_is_reported_before_anything_is_measured(fake: FakeWorld) -> None:
    """Regression: the null server was raced first, alone."""
    dead = Contender("127.0.0.1:9", "contender", (), any_body=True, url="http://127.0.0.1:9/")
    with pytest.raises(DeadheatError, match="nothing answers there") as caught:
        fake.conduct(fixed(controls=True), extra=(dead,))
    assert caught.value.hint is not None
    assert fake.host.processes == {}
    assert fake.rows("SELECT * FROM run") == []


def test_a_server_whose_answers_vary_is_reported_unless_that_is_meant(fake: FakeWorld) -> None:
    """Regression: a page with a time on it "answers nothing"; there was no way to race it."""
    numbers = itertools.count(10)
    fake.servers["own"] = FakeServer(answer=lambda _: GREETING[:-2] + b"%d" % next(numbers))
    fake.rates["own"] = 500
    own = Contender("own", "contender", ("own", "{port}"), any_body=True)
    fake.conduct(fixed(), extra=(own,))
    assert "own" not in {name for name, _ in fake.order()}
    assert fake.troubles()[0].endswith("if they are meant to: --any-body")
    fake.conduct(fixed(), extra=(replace(own, body_varies=True),))
    assert "own" in {name for name, _ in fake.order()}
    loads = [spec.command for call, spec in fake.host.calls if call == "converse"]
    with_any_body = [command for command in loads if "--any-body" in command]
    assert len(with_any_body) == 2  # of its two levels, and of no other server


def test_without_any_build_there_is_an_error_and_a_kept_run(fake: FakeWorld) -> None:
    fake.host.on_run(
        lambda command: command[0] == "maker", lambda *_: Completed(127, "", "", 0.1, 0.1)
    )
    with pytest.raises(DeadheatError, match="no contender is left to measure"):
        fake.conduct(fixed(controls=True))
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]
    assert "no contender is left" in fake.conclusion()["why"]


def test_bug_a_stop_longer_than_the_budget_ended_a_race_without_a_trial(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m bench.faults`, cli STOP 20 s: the budget counted the time of the stop."""
    stood_s = 0.0

    def stop(*_: object) -> None:
        nonlocal stood_s
        if not stood_s:
            stood_s = 600.0
            fake.host.sleep(stood_s)

    monkeypatch.setattr(Standstills, "total_s", lambda _: stood_s)
    fake.before_slice = stop
    fake.conduct(sliced())
    assert {trial["name"] for trial in fake.trials()} >= {"fast", "middle", "slow"}
    said = "this command was stopped for 10 min; its budget does not count that time"
    assert said in fake.troubles()


def test_an_interrupted_run_is_kept(fake: FakeWorld) -> None:
    with fake.interrupted(lambda *_: len(fake.slices) == 5):  # in the second block
        run_id = fake.conduct(fixed(connections=[10]))
    assert len(fake.trials()) == 3
    (run,) = fake.rows("SELECT id, state, ended_at FROM run")
    assert (run["id"], run["state"]) == (run_id, "interrupted")
    assert fake.conclusion()["why"] == "interrupted"
    assert run["ended_at"] is not None
    resumed = run_argument(run_id, fake.path)
    way_on = f"deadheat resume {resumed} goes on"
    assert f"interrupted: what was measured is kept; {way_on}" in fake.troubles()
    assert fake.left_running() == []


def test_a_full_disk_ends_the_run_and_everything_in_it(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_trials, added = Store.add_trials, itertools.count(1)

    def until_full(store: Store, records: Sequence[TrialRecord]) -> list[int]:
        if next(added) > 1:
            raise StoreError("the store cannot be written: disk full")
        return add_trials(store, records)

    monkeypatch.setattr(Store, "add_trials", until_full)
    with pytest.raises(StoreError, match="disk full"):
        fake.conduct(fixed())
    assert len(fake.trials()) == 6
    assert fake.rows("SELECT state FROM run") == [{"state": "failed"}]
    assert fake.conclusion()["why"] == "the store cannot be written: disk full"
    assert fake.left_running() == []


def test_an_interrupt_while_it_builds_offers_nothing_to_resume(fake: FakeWorld) -> None:
    """Regression: `deadheat resume` was offered, and refused."""

    def interrupt(*_: object) -> Completed:
        raise KeyboardInterrupt

    fake.host.on_run(lambda command: command[0] == "maker", interrupt)
    fake.conduct(fixed())
    assert fake.troubles() == ["interrupted: nothing was measured yet"]


def test_a_stop_that_fails_leaves_none_of_the_others_running(
    fake: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the first stop that raised kept all that were to follow from being stopped."""
    stop, stops = FakeHost.stop, itertools.count(1)

    def failing_once(host: FakeHost, process: str, signal: str, deadline_s: float) -> Exited:
        ended = stop(host, process, signal, deadline_s)
        if next(stops) == 1:
            raise HostError("the agent lost it")
        return ended

    monkeypatch.setattr(FakeHost, "stop", failing_once)
    with pytest.raises(HostError, match="the agent lost it"):
        fake.conduct(fixed())
    assert fake.left_running() == []


def test_bug_an_engine_killed_in_a_fixed_warm_up_ended_the_race(fake: FakeWorld) -> None:
    def kill_first(loads_before: int) -> None:
        if not loads_before and not killed:
            killed.append(True)
            raise HostError("deadheat-load ended by signal 9")

    killed: list[bool] = []
    fake.before_load = kill_first
    fake.conduct(alone(warmup={"kind": "fixed", "duration_s": 1.0}))
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]
    (trouble, *_) = fake.troubles()
    assert "could not be warmed up: deadheat-load ended by signal 9; it is started" in trouble
    assert not fake.failing("steady")
    assert len(fake.trials()) == 12


class OneBusyCpu(FakeWorld):
    """The first process of this host, started by the user, uses CPU 0 all the time."""

    def __init__(self, folder: Path, **rates: float) -> None:
        super().__init__(folder, **rates)
        self.user = self.host.start(ProcessSpec(["own", "8080"]), "")
        idle = self.host.sample

        def sample(at_s: float, processes: Sequence[str]) -> Sample:
            read = idle(at_s, processes)
            busy = (int(at_s * 100), 0, 0, 0, 0, 0, 0, 0)
            usage = {
                process: replace(used, cpu_s=at_s if process == self.user else 0.0)
                for process, used in read.usage.items()
            }
            return replace(read, cpu_ticks={**read.cpu_ticks, 0: busy}, usage=usage)

        self.host.sample = sample  # type: ignore[method-assign]

    def race(self, *paths: str) -> list[bool]:
        """Whether `neighbor` passed, for each trial of the user's server at these paths."""
        urls = [f"http://127.0.0.1:8080{path}" for path in paths]
        own = [Contender(url, "contender", (), any_body=True, url=url) for url in urls]
        self.conduct(fixed(connections=[10]), selections=(), extra=own)
        query = "SELECT passed FROM gate WHERE code = 'neighbor'"
        return [bool(row["passed"]) for row in self.rows(query)]


@pytest.fixture
def busy(tmp_path: Path) -> OneBusyCpu:
    return OneBusyCpu(tmp_path, own=2000)


def test_bug_a_running_server_of_this_machine_is_no_neighbor(busy: OneBusyCpu) -> None:
    """The gate failed in every trial, because the server itself counted as another process."""
    assert not any(busy.race("/")), "nothing is known of the server, so it is a neighbor"
    busy.host.running[("127.0.0.1", 8080)] = RunningServer(busy.user, (0, 1))
    passed = busy.race("/")[3:]
    assert passed
    assert all(passed)
    costs = [trial["server_cpu_us_per_request"] for trial in busy.trials()]
    assert costs[0] is None
    assert costs[-1] > 0


def test_a_process_at_several_urls_has_no_cost_of_one(busy: OneBusyCpu) -> None:
    busy.host.running[("127.0.0.1", 8080)] = RunningServer(busy.user, (0, 1))
    assert all(busy.race("/?a=1", "/?a=2"))
    assert {trial["server_cpu_us_per_request"] for trial in busy.trials()} == {None}


def test_a_server_that_is_not_seen_is_not_judged_as_a_neighbor(busy: OneBusyCpu) -> None:
    def unseen(address: tuple[str, int]) -> RunningServer | None:
        raise HostError("docker-proxy only passes the requests on")

    busy.host.find_running = unseen  # type: ignore[method-assign]
    assert busy.race("/") == []
    assert any("docker-proxy only passes" in trouble for trouble in busy.troubles())
