"""A world without processes: servers of known rates, a clock of its own, our engine's documents."""

import json
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from deadheat.build.builder import Builder
from deadheat.campaign.campaign import Conducted, Plan, conduct
from deadheat.campaign.resume import Unfinished, load_unfinished
from deadheat.catalog import load_server, selection
from deadheat.events import Board, Event, Progress
from deadheat.host import Completed, ProcessSpec
from deadheat.host.fake import FakeHost, FakeProcess, FakeServer
from deadheat.load import Engine
from deadheat.measure.world import LoadSide, World
from deadheat.store import Store
from tests.build.made import made_server

DOCUMENT = json.loads(
    (Path(__file__).parents[1] / "load" / "output" / "engine-closed.json").read_text()
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
GREETING = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"


class FakeWorld:
    """`rates`: requests/s of each server, by name; each answers rightly unless told otherwise."""

    def __init__(self, folder: Path, **rates: float) -> None:
        self.rates = rates
        self.rates_on: dict[tuple[str, str], float] = {}  # by name and workload, where they differ
        self.noise = 0.01  # of a rate, from trial to trial
        self.servers = {name: FakeServer(answer=greet) for name in rates}
        self.events: list[Progress | Event | Board] = []
        self.before_load: Callable[[int], None] = lambda _: None  # told how many loads there were
        self.running: list[list[str]] = []  # what ran during each load
        self.loads: list[tuple[str, ProcessSpec]] = []  # what was loaded, by which command
        self.host = FakeHost()
        self.host.on_run(lambda _: True, lambda *_: Completed(0, "made 1.0\n", "", 0.1, 0.1))
        self.host.on_run(lambda command: command[0] == "deadheat-load", self._load)
        self.host.on_ask(lambda command: command[0] == "deadheat-load", self._ask)
        self.before_slice: Callable[[str, dict[str, Any]], None] = lambda *_: None
        self.preflight_error: Callable[[str], str | None] = lambda _: None  # by the server's name
        self.slices: list[tuple[str, dict[str, Any]]] = []  # whom, and what was asked for
        # How many connections a server answers in a load of that length; None: all.
        self.served: Callable[[str, float], int | None] = lambda *_: None
        self.retransmits: Counter[str] = Counter()  # of each slice, by the server's name
        self.host.on_start(lambda _: True, lambda _, spec: self.servers[name_of(spec)])
        self._random = random.Random(7)
        self._folder = folder
        (folder / "recipes").mkdir()
        self._contenders = [selection(made_server(folder, name)) for name in rates]
        self.path = folder / "runs.sqlite"
        engine = Engine("deadheat-load")
        self.world = World(
            server_host=self.host,
            server_cpus=(0,),
            loads=(LoadSide(self.host, (1,), engine, folder / "logs"),),
            generator=engine,
            generator_version="0",
            engine_version="0",
            server_engine=engine,
            logs=folder / "logs",
        )

    def let_answer(self, name: str, *workloads: str) -> None:
        """Name these workloads in the server's manifest."""
        self.rewrite(name, "[version]", f"workloads = {[*workloads]}\n\n[version]")

    def rewrite(self, name: str, old: str, new: str) -> None:
        """Replace a text in the server's manifest."""
        path = self._folder / "servers" / name / "server.toml"
        path.write_text(path.read_text().replace(old, new))
        place = [contender.name for contender in self._contenders].index(name)
        self._contenders[place] = selection(load_server(path.parent, self._folder / "recipes"))

    def over_h2c(self) -> None:
        """Let each server speak HTTP/2 in clear text alone."""
        for name in [contender.name for contender in self._contenders]:
            self.rewrite(name, "[start]", "[transports.h2c]\n\n[start]")
        self._contenders = [selection(each.server, "h2c") for each in self._contenders]

    def start_slowly(self, ready_after_s: float) -> None:
        for name, server in self.servers.items():
            self.servers[name] = replace(server, ready_after_s=ready_after_s)

    def add_controls(self) -> None:
        for name, rate in (("null-server", 1e6), ("reference", 1500)):
            self.rates.setdefault(name, rate)
            self.servers.setdefault(name, FakeServer(answer=greet))

    def conduct(self, protocol: Conducted, seed: int = 1, **plan: Any) -> str:
        """A whole campaign; returns the run's id."""
        self.add_controls()
        made = Plan(protocol, self._contenders, {}, (), seed, ["deadheat", "run"])
        with Store(self.path) as store:
            builder = Builder(self.host, self._folder / "builds")
            return conduct(replace(made, **plan), self.world, store, builder, self.events.append)

    def resume(
        self,
        run_id: str,
        change: Callable[[Unfinished], Unfinished] = lambda left: left,
        **values: Any,
    ) -> str:
        """Go on with a run of this world's."""
        with Store(self.path) as store:
            left = change(load_unfinished(store, run_id))
            by_name = {contender.name: contender for contender in self._contenders}
            plan = Plan(
                protocol=left.protocol,
                selections=[by_name[contender.name] for contender in left.waiting],
                labels=left.labels,
                extra=(),
                seed=left.run.seed,
                command=left.run.command,
                left=left,
            )
            builder = Builder(self.host, self._folder / "builds")
            return conduct(replace(plan, **values), self.world, store, builder, self.events.append)

    @contextmanager
    def interrupted(self, when: Callable[[str, dict[str, Any]], bool]) -> Iterator[None]:
        """The user interrupts a run before the first slice for which this holds."""

        def interrupt(name: str, request: dict[str, Any]) -> None:
            if when(name, request):
                raise KeyboardInterrupt

        self.before_slice = interrupt
        yield
        self.before_slice = lambda *_: None

    def conclusion(self) -> dict[str, Any]:
        """Of the only run."""
        (run,) = self.rows("SELECT conclusion FROM run")
        stored: dict[str, Any] = json.loads(run["conclusion"])
        return stored

    def failing(self, gate: str) -> set[str]:
        """The contenders with a trial that failed this gate."""
        failed = self.rows(
            "SELECT contender.name FROM gate JOIN trial ON trial.id = gate.trial_id"
            " JOIN contender ON contender.id = trial.contender_id"
            f" WHERE gate.code = '{gate}' AND NOT gate.passed"
        )
        return {row["name"] for row in failed}

    def rows(self, query: str) -> list[dict[str, Any]]:
        with Store(self.path, read_only=True) as store:
            return store.rows(query)

    def trials(self) -> list[dict[str, Any]]:
        """Every trial in the order of its end, with its contender's name."""
        return self.rows(
            "SELECT contender.name, trial.* FROM trial JOIN contender"
            " ON contender.id = trial.contender_id ORDER BY trial.id"
        )

    def slice_rows(self) -> list[tuple[str, int, dict[str, Any]]]:
        """Contender, block and row of every stored slice."""
        stored = self.rows(
            "SELECT contender.name, trial.block, series.rows FROM series"
            " JOIN trial ON trial.id = series.trial_id"
            " JOIN contender ON contender.id = trial.contender_id"
            " WHERE series.name = 'slices' ORDER BY trial.id"
        )
        return [
            (trial["name"], trial["block"], row)
            for trial in stored
            for row in json.loads(zlib.decompress(trial["rows"]))
        ]

    def started(self) -> list[str]:
        """The contender or control of each instance, in the order of their starts."""
        stored = self.rows(
            "SELECT contender.name FROM instance"
            " JOIN contender ON contender.id = instance.contender_id ORDER BY instance.id"
        )
        return [instance["name"] for instance in stored]

    def starts(self) -> Counter[str]:
        """How many instances each contender and control had."""
        return Counter(self.started())

    def order(self) -> list[tuple[str, int]]:
        """Contender and connections of every trial in the order of its end."""
        return [(trial["name"], trial["connections"]) for trial in self.trials()]

    def troubles(self) -> list[str]:
        return [e.what for e in self.events if isinstance(e, Event) and e.trouble]

    def left_running(self) -> list[str]:
        processes = self.host.processes.values()
        return [name_of(fake.spec) for fake in processes if fake.exited is None]

    def _ask(self, host: FakeHost, spec: ProcessSpec, line: str | None) -> str:
        """One slice of the only server that runs."""
        address = spec.command[1].removeprefix("http://").rstrip("/")
        if line is None:
            fault = self.preflight_error(name_of(listener(host, address).spec))
            return READY if fault is None else json.dumps({**READY_TO_LOAD, PREFLIGHT: fault})
        request = json.loads(line)
        loaded = self._loaded(host, address)
        name = name_of(loaded.spec)
        self.before_slice(name, request)
        self.slices.append((name, request))
        host.sleep(request["duration_s"] + request["discard_s"])
        rate_per_s = self._rate_per_s(name, spec) * self._random.lognormvariate(0, self.noise)
        answer: dict[str, Any] = json.loads(slice_answer(request, spec, rate_per_s))
        answer["connections"]["retransmits"] = self.retransmits[name]
        if (served := self.served(name, request["duration_s"])) is not None:
            answer["connections"]["served"] = served
        return json.dumps(answer)

    def _loaded(self, host: FakeHost, address: str) -> FakeProcess:
        """The server at an address; notes which servers run beside it."""
        servers = living_servers(host)
        self.running.append([name_of(fake.spec) for fake in servers if not fake.frozen])
        return listener(host, address)

    def _load(self, host: FakeHost, spec: ProcessSpec) -> Completed:
        self.before_load(len(self.loads))
        address = spec.command[1].removeprefix("http://").rstrip("/")
        loaded = self._loaded(host, address)
        name = name_of(loaded.spec)
        self.loads.append((name, spec))
        rate = self._rate_per_s(name, spec) * self._random.lognormvariate(0, self.noise)
        done = document(spec, rate)
        answer = json.loads(done.stdout)
        if (served := self.served(name, answer["elapsed_s"])) is not None:
            answer["connections"]["served"] = served
        return replace(done, stdout=json.dumps(answer))

    def _rate_per_s(self, name: str, spec: ProcessSpec) -> float:
        return self.rates_on.get((name, workload_of(spec)), self.rates[name])


def workload_of(spec: ProcessSpec) -> str:
    """The workload of a load process."""
    flags = dict(zip(spec.command, spec.command[1:], strict=False))
    return str(json.loads(flags["--workload"])["name"]) if "--workload" in flags else "hello"


READY_TO_LOAD = {"type": "ready", "schema": "deadheat-load/1"}
READY = json.dumps(READY_TO_LOAD)
PREFLIGHT = "preflight_error"
RESIDENT = "--slices"  # in the command of a process of ours that is no server


def slice_answer(request: dict[str, Any], spec: ProcessSpec, rate_per_s: float) -> str:
    """What the resident load process answers after a clean slice at this rate."""
    times = ["-d", f"{1000 * request['duration_s']}ms", "--warmup", "0ms"]
    done = document(ProcessSpec((*spec.command, *times)), rate_per_s)
    answer = json.loads(done.stdout)
    ok = answer["classes"]["ok"]
    rows = max(1, round(request["duration_s"] / 0.01))
    ends_s = [min(0.01 * (n + 1), request["duration_s"]) for n in range(rows)]
    answer["series"] = [{"at_s": at_s, "ok": ok / rows, "errors": 0} for at_s in ends_s]
    return json.dumps(answer | {"type": "slice", "id": request["id"], "interrupted": False})


def greet(request: bytes) -> bytes:
    return NOT_FOUND if b"/deadheat-no-such-path" in request else GREETING


def name_of(spec: ProcessSpec) -> str:
    """The program; the engine's null servers by their work."""
    if spec.command[0] != "deadheat-load":
        return spec.command[0]
    return "null-server" if spec.command[-1] == "0" else "reference"


def living_servers(host: FakeHost) -> list[FakeProcess]:
    return [
        fake
        for fake in host.processes.values()
        if fake.exited is None
        and RESIDENT not in fake.spec.command
        and fake.spec.command[0] not in ("strace", "perf")
    ]


def listener(host: FakeHost, address: str) -> FakeProcess:
    """The living server at `ADDRESS:PORT`."""
    name, port = address.partition("/")[0].split(":")
    assert name == "127.0.0.1"
    (server,) = [fake for fake in living_servers(host) if fake.listens_on(int(port))]
    return server


def document(spec: ProcessSpec, rate_per_s: float) -> Completed:
    """What the engine prints of a clean trial at this rate."""
    flags = dict(zip(spec.command, spec.command[1:], strict=False))
    duration_s, warmup_s = (float(flags[f][:-2]) / 1000 for f in ("-d", "--warmup"))
    connections = int(flags["-c"])
    offered_per_s = float(flags["--rate"]) if "--rate" in flags else None
    rate_per_s = min(rate_per_s, offered_per_s or rate_per_s)
    ok = round(rate_per_s * duration_s)
    windows = max(1, round(duration_s / 0.1))
    figures = DOCUMENT["latency"]["service_us"] | {"mean": connections / rate_per_s * 1e6}
    latency = DOCUMENT["latency"] | {"service_us": figures}
    if offered_per_s is not None:
        latency = latency | {"response_us": figures, "client_lag_us": figures | {"p99": 1.0}}
    measured = DOCUMENT | {
        "rate_per_s": rate_per_s,
        "elapsed_s": duration_s,
        "window_s": duration_s,
        "pauses": {"total_s": 0.0, "longest_us": 0},
        "requests": {"scheduled": ok, "ok": ok, "preflight": 1},
        "classes": DOCUMENT["classes"] | {"ok": ok},
        "connections": DOCUMENT["connections"]
        | {"asked": connections, "established": connections, "served": connections}
        | {"retransmits": 0},
        "latency": latency,
        "offered_rate_per_s": offered_per_s,
        "limits": [],
        "client": DOCUMENT["client"] | {"busiest_thread_share": 0.3, "run_wait_share": 0.0},
        "little_law_error": 0.0,
        "series": [
            {"at_s": 0.1 * (n + 1), "ok": ok / windows, "errors": 0} for n in range(windows)
        ],
    }
    return Completed(0, json.dumps(measured), "", duration_s + warmup_s, duration_s / 2)
