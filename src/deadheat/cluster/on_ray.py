"""`RayCluster`: places runs on the nodes of a Ray cluster, and moves their bundles.

Ray is imported here alone. It is idle while a pair of hosts measures.
"""

import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deadheat import __version__
from deadheat.cluster.race import Ending
from deadheat.cluster.result import ClusterHost, HostPair
from deadheat.errors import DeadheatError, StoreError, first_line
from deadheat.store import Store
from deadheat.store.bundle import export_run
from deadheat.store.listing import run_ids

ROLES = ("server", "load")
NODES = "docs/cluster.md shows how to start one; `ray status` lists its nodes"
CONNECT_S = 5.0
START_S = 120.0  # of a worker of Ray on a node
READ_S = 30.0
POLL_S = 2.0
ERROR_LINES = 6
Node = Mapping[str, Any]


class Worker:
    """One host of a pair, as an actor of Ray. It waits while deadheat measures."""

    def __init__(self) -> None:
        self._read_s = 0.0  # when the CPU time of Ray was read last
        self._cpu_s: Mapping[tuple[int, int], float] = {}

    def version(self) -> str:
        return f"deadheat {__version__}, Python {platform.python_version()}"

    def ray_share(self) -> float:
        """The share of all CPUs of this host that Ray used since this was asked last.

        A process that began in between counts from its start; one that ended in between is missed.
        """
        before_s, before = self._read_s, self._cpu_s
        self._read_s, self._cpu_s = time.monotonic(), ray_cpu_s()
        used_s = sum(max(0.0, s - before.get(each, 0.0)) for each, s in self._cpu_s.items())
        return used_s / (max(self._read_s - before_s, 1e-9) * (os.cpu_count() or 1))

    def run(self, words: Sequence[str]) -> tuple[int, bytes | None, str, float]:
        """Carry out `deadheat run WORDS` with a store for it alone.

        Returns the exit code, the bundle if it stored a run, its last lines if it failed, and the
        share of this host's CPUs that Ray used meanwhile.
        """
        with tempfile.TemporaryDirectory(prefix="deadheat-") as folder:
            store = Path(folder) / "runs.sqlite"
            command = ["run", *words, "--store", str(store), "-o", str(Path(folder) / "run.md")]
            self.ray_share()
            completed = subprocess.run(
                [sys.executable, "-m", "deadheat.cli.cluster", str(os.getpid()), *command],
                env={k: v for k, v in os.environ.items() if not k.startswith("RAY_")},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            share = self.ray_share()
            error = last_error(completed.stderr) if completed.returncode else ""
            return completed.returncode, _bundle(store), error, share


def ray_cpu_s() -> dict[tuple[int, int], float]:
    """CPU seconds of each process of Ray on this host, by its id and start, from /proc.

    Ray titles its workers `ray::NAME`; its other processes are programs and modules of its
    package. Fields 14 and 15 of `stat` are user and system time, field 22 the start (proc(5)).
    """
    import ray

    cpu_s, inside = {}, f"{Path(ray.__file__).parent}/".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            words = (folder / "cmdline").read_bytes().split(b"\0")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if words[0].startswith(b"ray::") or any(w.startswith(inside) for w in words[:4]):
                ticks = int(fields[11]) + int(fields[12])
                cpu_s[int(folder.name), int(fields[19])] = ticks / os.sysconf("SC_CLK_TCK")
    return cpu_s


def last_error(printed: str) -> str:
    """From the last `error:` on; the last lines if there is none, as after a crash."""
    lines = printed.strip().splitlines()
    starts = [place for place, line in enumerate(lines) if line.startswith("error: ")]
    chosen = lines[starts[-1] :] if starts else lines
    return "\n".join(chosen[-ERROR_LINES:]).removeprefix("error: ")


def _bundle(path: Path) -> bytes | None:
    """The run in a store; None if it stored none."""
    bundle = path.with_name("run.deadheat")
    with suppress(StoreError), Store(path, read_only=True) as store:
        for run_id in run_ids(store)[:1]:
            export_run(store, run_id, bundle)
            return bundle.read_bytes()
    return None


def pair_up(nodes: Sequence[Node]) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """Server node and load node of each pair, and the nodes that have no partner.

    `nodes` are what `ray.nodes()` returns; one counts if it is alive and offers a role. A node with
    both roles is a pair alone; the others are paired in the order of their addresses. Raises
    `DeadheatError` if a role is not offered.
    """
    alive = [node for node in nodes if node["Alive"]]
    alive.sort(key=lambda node: (node["NodeManagerAddress"], node["NodeID"]))
    servers, loads = ([n for n in alive if n["Resources"].get(role, 0) >= 1] for role in ROLES)
    for role, offering in zip(ROLES, (servers, loads), strict=True):
        if not offering:
            raise DeadheatError(
                f"no node of the cluster offers {role}: expected the custom resources `server` "
                "and `load`",
                "start its node with `ray start --address=HEAD:6379 "
                f"--resources='{{\"{role}\": 1}}'`",
            )
    both = [node for node in servers if node in loads]
    servers, loads = ([n for n in offering if n not in both] for offering in (servers, loads))
    couples = [*((node, node) for node in both), *zip(servers, loads, strict=False)]
    return couples, [*servers[len(loads) :], *loads[len(servers) :]]


def _host(node: Node) -> ClusterHost:
    return ClusterHost(name=node["NodeManagerHostname"], address=node["NodeManagerAddress"])


class RayCluster:
    """Pairs of the nodes that are alive now; `left_over` are hosts without a partner."""

    def __init__(self, ray: Any, ssh_user: str | None) -> None:
        self._ray, self._target = ray, f"{ssh_user}@" if ssh_user else ""
        couples, left_over = pair_up(ray.nodes())
        self.left_over = tuple(map(_host, left_over))
        self.pairs = tuple(
            HostPair(number=number, server=_host(server), load=_host(load))
            for number, (server, load) in enumerate(couples, 1)
        )
        self._workers = dict(zip(self.pairs, map(self._workers_of, couples), strict=True))
        self._runs: dict[Any, HostPair] = {}
        self._require_one_version()

    def start(self, pair: HostPair, words: Sequence[str]) -> None:
        """Start a run; a host that is dead already shows in the next ending."""
        server, load = self._workers[pair]
        if pair.server.address != pair.load.address:
            words = (*words, "--server-host", f"{self._target}{pair.server.address}")
        server.ray_share.remote()
        self._runs[load.run.remote(list(words))] = pair

    def next_ending(self) -> Ending:
        """Wait until one of the runs that were started ends."""
        ended: list[Any] = []
        while not ended:
            ended, _ = self._ray.wait(list(self._runs), num_returns=1, timeout=POLL_S)
        pair = self._runs.pop(ended[0])
        server, load = self._workers[pair]
        try:
            exit_code, bundle, error, share = self._ray.get(ended[0])
        except self._ray.exceptions.RayError as fault:
            return Ending(pair, lost=f"its load host {pair.load.name} died ({first_line(fault)})")
        ray_cpu, lost = {"both" if server is load else "load": share}, None
        if server is not load:
            try:
                ray_cpu["server"] = self._ray.get(server.ray_share.remote(), timeout=READ_S)
            except self._ray.exceptions.RayError as fault:
                lost = f"its server host {pair.server.name} died ({first_line(fault)})"
        return Ending(pair, exit_code, bundle, error, ray_cpu, lost)

    def _workers_of(self, couple: tuple[Node, Node]) -> tuple[Any, Any]:
        """The workers of a server node and a load node; the same one if they are one node."""
        server, load = couple
        if server is load:
            return (self._worker(server, *ROLES),) * 2
        return self._worker(server, "server"), self._worker(load, "load")

    def _worker(self, node: Node, *roles: str) -> Any:
        """A worker that holds the roles of a node, so no other cluster run uses it meanwhile."""
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        options = {
            "num_cpus": 0,
            "resources": dict.fromkeys(roles, 1),
            "scheduling_strategy": strategy(node_id=node["NodeID"], soft=False),
            "max_restarts": 0,
        }
        return self._ray.remote(Worker).options(**options).remote()

    def _require_one_version(self) -> None:
        """Raises `DeadheatError` for a host on which deadheat does not start, or differs."""
        own, faults = Worker().version(), self._ray.exceptions
        for pair, workers in self._workers.items():
            for host, worker in zip((pair.server, pair.load), workers, strict=True):
                try:
                    version = self._ray.get(worker.version.remote(), timeout=START_S)
                except faults.GetTimeoutError as error:
                    raise DeadheatError(
                        f"host {host.name}: no worker of Ray started within {START_S:.0f} s",
                        "another cluster run may hold this host: `ray status` shows what is in use",
                    ) from error
                except faults.RayError as error:
                    raise DeadheatError(
                        f"host {host.name}: deadheat does not start there: {first_line(error)}",
                        "install it on every host: pip install 'deadheat[cluster]'",
                    ) from error
                if version != own:
                    raise DeadheatError(
                        f"host {host.name} has {version}; this one has {own}",
                        "install the same versions on every host",
                    )


@contextmanager
def ray_cluster(address: str, ssh_user: str | None) -> Iterator[RayCluster]:
    """The cluster at `address` (HOST:PORT, or `auto` for that of this host) until the context ends.

    Raises `DeadheatError` without Ray, without a cluster there, without hosts for both roles, and
    for a host with another version of deadheat.
    """
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise DeadheatError(
            f"a cluster run needs Ray: {error}", "install it: pip install 'deadheat[cluster]'"
        ) from error
    host, _, port = address.rpartition(":")
    try:
        if host and "/" not in host:  # Ray itself waits for a minute for one that is not there
            socket.create_connection((host, int(port)), CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise DeadheatError(
            f"--address {address}: no Ray cluster answers: {error}", NODES
        ) from error
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        first = first_line(error)
        raise DeadheatError(f"--address {address}: no Ray cluster: {first}", NODES) from error
    try:
        yield RayCluster(ray, ssh_user)
    finally:
        ray.shutdown()
