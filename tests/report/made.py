"""Made runs: a store filled through its API with trials of known rates."""

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hdrh.histogram import HdrHistogram

from deadheat.host import fake
from deadheat.host.fingerprint import Fingerprint, IdleState
from deadheat.protocol import Fixed, Repetitions, Settle, StoredProtocol
from deadheat.protocol.model import STORED_KINDS
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.store import Conclusion, Gate, Store, TrialRecord

SETTLE: dict[str, Any] = {
    "name": "settle",
    "about": "until the order is settled",
    "generator": "engine",
    "connections": [100],
    "keep_alive": True,
    "duration_s": 0.5,
    "aggregate": "median",
    "warmup": {"kind": "none"},
    "stopping": {
        "kind": "settle",
        "invocations": 3,
        "blocks_min": 4,
        "margin": 0.03,
        "confidence": 0.95,
        "budget_s": 300,
    },
}
QUICK: dict[str, Any] = {
    **SETTLE,
    "name": "quick",
    "duration_s": 1.0,
    "stopping": {"kind": "fixed", "repetitions": 3, "invocations": 1},
}
FINGERPRINT = fake.FINGERPRINT.model_copy(
    update={
        "cpu": fake.FINGERPRINT.cpu.model_copy(
            update={
                "model": "Made CPU",
                "virtual_machine": True,
                "idle": IdleState(driver="haltpoll", wake_up_us=0, hindrance=None),
            }
        ),
        "kernel": "6.1.0",
        "os": "Made OS 1",
    }
)


def made_protocol(values: Mapping[str, Any]) -> StoredProtocol:
    """The protocol of these values that its kind has. A workload may be a name alone.

    Without a kind it is a race in slices if it has some, else one of whole trials.
    """
    kind = values.get("kind", "slices" if values.get("slices") else "trials")
    model = STORED_KINDS[kind]
    plain = {"about": "made", "requests": [{"path": "/"}]}
    workloads = [plain | workload for workload in values.get("workloads", ())]
    known = {name: value for name, value in values.items() if name in model.model_fields}
    if stopping := known.get("stopping"):
        rule = Repetitions if kind == "alone" else Settle if stopping["kind"] == "settle" else Fixed
        known["stopping"] = {name: stopping[name] for name in stopping if name in rule.model_fields}
    return model.model_validate({**known, "kind": kind, "workloads": workloads})


@functools.cache  # a race has hundreds of trials with the same one
def histogram(requests: int, median_us: int = 1000) -> str:
    """A distribution with a tail: the median, and a hundredth of the requests ten times slower."""
    made = HdrHistogram(1, 3_600_000_000, 3)
    made.record_value(median_us, requests - requests // 50)
    made.record_value(10 * median_us, requests // 50)
    return bytes(made.encode()).decode()


@dataclass
class MadeRun:
    """One run in a store, trial by trial."""

    store: Store
    protocol: Mapping[str, Any] = field(default_factory=lambda: SETTLE)
    command: Sequence[str] = ("deadheat", "run", "a", "b")
    seed: int = 7
    cpus: int = 1  # of the server
    fingerprints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # role -> what more

    def __post_init__(self) -> None:
        self.run_id = self.store.begin_run(
            protocol=made_protocol(self.protocol),
            command=self.command,
            seed=self.seed,
            deadheat_version="0.1.0",
            generator_version="engine 0.1.0",
        )
        for role, cpus in (("server", range(self.cpus)), ("load", [self.cpus])):
            more = self.fingerprints.get(role, {})
            fingerprint = Fingerprint.model_validate({**FINGERPRINT.to_json(), **more})
            self.store.add_host(self.run_id, role, list(cpus), fingerprint)
        self.ids: dict[str, int] = {}
        self.random = random.Random(self.seed)

    def contender(self, name: str, role: str = "contender", **values: Any) -> int:
        """A contender without starts or trials."""
        manifest = {"language": "Go", "framework": "net/http", "kind": "server"}
        known = {"server": name, "version": "1.2.3", "workers": 1, "threads": 1}
        self.ids[name] = self.store.add_contender(
            run_id=self.run_id,
            position=len(self.ids),
            name=name,
            setting="default",
            role=role,
            **{"manifest": manifest, **known, **values},
        )
        return self.ids[name]

    def start(self, name: str, invocation: int = 1, **values: Any) -> int:
        """A start without trouble unless `values` say otherwise."""
        steady = {"kind": "warm-up", "start": 5, "trouble": None}
        values = {"command": [name], "ready_s": 0.1, "steady": steady} | values
        return self.store.add_instance(
            contender_id=self.ids[name], invocation=invocation, at_s=0.0, **values
        )

    def trial(self, name: str, rate_per_s: float | None, **values: Any) -> int:
        """A valid trial unless `values` say otherwise."""
        requests = 6000
        known: dict[str, Any] = {
            "run_id": self.run_id,
            "contender_id": self.ids[name],
            "instance_id": None,
            "kind": "measure",
            "invocation": 1,
            "block": 1,
            "heat": 1,
            "connections": 100,
            "at_s": 1.0,
            "command": ["deadheat-load"],
            "state": "ok",
            "rate_per_s": rate_per_s,
            "requests_ok": requests,
            "elapsed_s": 0.5,
            "server_cpu_us_per_request": 41.5,
            "memory_peak_bytes": 48 * 1024**2,
            "histograms": {"service_us": histogram(requests)},
        }
        return self.store.add_trial(TrialRecord(**(known | values)))

    def race(
        self,
        rates: Mapping[str, float],
        *,
        invocations: int = 3,
        blocks: int = 8,
        levels: Sequence[int] = (100,),
        noise: float = 0.01,
        gates_of: Mapping[str, Sequence[Gate]] = MappingProxyType({}),
        **values: Any,
    ) -> None:
        """Trials of every contender in every block, around its true rate, with a shared drift."""
        for name in rates:
            if name not in self.ids:
                self.contender(name)
        at_s = 0.0
        for invocation in range(1, invocations + 1):
            for name in rates:
                self.start(name, invocation)
            for block in range(1, blocks + 1):
                drift = 1 + 0.1 * self.random.random()
                for level in levels:
                    for name, rate in rates.items():
                        at_s += 0.7
                        measured_per_s = rate * drift * self.random.lognormvariate(0, noise)
                        self.trial(
                            name,
                            measured_per_s,
                            invocation=invocation,
                            block=block,
                            connections=level,
                            at_s=at_s,
                            **values,
                            **({"gates": gates_of[name]} if name in gates_of else {}),
                        )

    def end(self, state: str = "complete", why: str = "settled", **conclusion: Any) -> str:
        end = Conclusion.model_validate({"why": why, **conclusion})
        self.store.end_run(self.run_id, state, end)
        return self.run_id

    def view(self, whole: bool = False) -> RunView:
        """What a report sees of the run so far."""
        return load_view(self.store, self.run_id, whole=whole)

    def ended(self, **conclusion: Any) -> RunView:
        """The whole view of the run, ended with this conclusion."""
        self.end(**conclusion)
        return self.view(whole=True)


def failed(code: str = "steal", reading: float = 0.04) -> tuple[Gate, ...]:
    """One gate that failed."""
    return (Gate(code, False, reading, 0.01, "share", "stop what else runs on this machine"),)


def made_run(path: Path, **values: Any) -> MadeRun:
    return MadeRun(Store(path), **values)
