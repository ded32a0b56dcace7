"""`RayCluster`: places runs on the nodes of a Ray cluster, and moves their bundles.

Ray is imported here and in the workers alone. It is idle while a pair of hosts measures.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deadheat.cluster.cluster import Ending, HostShare
from deadheat.cluster.hosts import ROLES, HostPair, Node, pair_up
from deadheat.cluster.ray_cpu import RayCpu
from deadheat.cluster.worker import RunResult, Worker
from deadheat.errors import DeadheatError

CONNECT_S = 5.0
START_S = 120.0  # of a worker of Ray on a node
READ_S = 30.0
POLL_S = 2.0
NODES = "docs/cluster.md shows how to start one; `ray status` lists its nodes"


@dataclass(frozen=True, slots=True)
class _Actors:
    """The workers of a pair; one if it is one node."""

    server: Any
    load: Any


@contextmanager
def ray_cluster(address: str, ssh_user: str | None) -> Iterator["RayCluster"]:
    """The cluster at `address` (HOST:PORT, or `auto` for that of this host) until the context ends.

    Raises `DeadheatError` without Ray, without a cluster there, without hosts for both roles, and
    for a host with another version of deadheat.
    """
    ray = _import_ray()
    _require_answer(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise DeadheatError(f"--address {address}: no Ray cluster: {first}", NODES) from error
    try:
        yield RayCluster(ray, ssh_user)
    finally:
        ray.shutdown()


class RayCluster:
    """Pairs of the nodes that are alive now; `left_over` are nodes without a partner."""

    def __init__(self, ray: Any, ssh_user: str | None) -> None:
        self._ray, self._ssh_user = ray, ssh_user
        self.pairs, self.left_over = pair_up(nodes_of(ray.nodes()))
        self._runs: dict[Any, tuple[HostPair, RayCpu]] = {}
        self._actors = {pair: self._start_actors(pair) for pair in self.pairs}
        self._require_one_version()

    def start(self, pair: HostPair, words: Sequence[str]) -> None:
        """Start a run; a host that is dead already shows in the next ending."""
        actors = self._actors[pair]
        if not pair.is_one_host:
            target = f"{self._ssh_user}@" if self._ssh_user else ""
            words = (*words, "--server-host", f"{target}{pair.server.address}")
        try:
            before = self._ray.get(actors.server.ray_cpu.remote(), timeout=READ_S)
        except self._ray.exceptions.RayError:
            before = None  # the run ends for the same reason
        self._runs[actors.load.run.remote(list(words))] = (pair, before)

    def next_ending(self) -> Ending:
        """Wait for a run that was started. Raises `RuntimeError` if there is none."""
        if not self._runs:
            raise RuntimeError("no run is under way")
        ended: list[Any] = []
        while not ended:
            ended, _ = self._ray.wait(list(self._runs), num_returns=1, timeout=POLL_S)
        pair, before = self._runs.pop(ended[0])
        try:
            result: RunResult = self._ray.get(ended[0])
        except self._ray.exceptions.RayError as error:
            return Ending(pair, lost=f"its load host {pair.load.name} died ({_first_line(error)})")
        shares = [HostShare("load", result.ray_cpu[1].share_since(result.ray_cpu[0]))]
        lost = None
        if pair.server == pair.load:
            shares = [HostShare("both", shares[0].ray_cpu_share)]
        else:
            try:
                after = self._ray.get(self._actors[pair].server.ray_cpu.remote(), timeout=READ_S)
                if before is not None:
                    shares.append(HostShare("server", after.share_since(before)))
            except self._ray.exceptions.RayError as error:
                lost = f"its server host {pair.server.name} died ({_first_line(error)})"
        return Ending(pair, result.exit_code, result.bundle, result.error, tuple(shares), lost)

    def _start_actors(self, pair: HostPair) -> _Actors:
        if pair.server == pair.load:
            worker = self._actor(pair.load, ROLES)
            return _Actors(worker, worker)
        return _Actors(self._actor(pair.server, ("server",)), self._actor(pair.load, ("load",)))

    def _actor(self, node: Node, roles: Sequence[str]) -> Any:
        """A worker that holds the roles of a node, so no other cluster run uses it meanwhile."""
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        options = {
            "num_cpus": 0,
            "resources": dict.fromkeys(roles, 1),
            "scheduling_strategy": strategy(node_id=node.id, soft=False),
            "max_restarts": 0,
        }
        return self._ray.remote(Worker).options(**options).remote()

    def _require_one_version(self) -> None:
        """Raises `DeadheatError` for a host on which deadheat does not start, or differs."""
        own = Worker().version()
        for pair, actors in self._actors.items():
            for node, actor in ((pair.server, actors.server), (pair.load, actors.load)):
                try:
                    version = self._ray.get(actor.version.remote(), timeout=START_S)
                except self._ray.exceptions.GetTimeoutError as error:
                    raise DeadheatError(
                        f"host {node.name}: no worker of Ray started within {START_S:.0f} s",
                        "another cluster run may hold this host: `ray status` shows what is in use",
                    ) from error
                except self._ray.exceptions.RayError as error:
                    raise DeadheatError(
                        f"host {node.name}: deadheat does not start there: {_first_line(error)}",
                        "install it on every host: pip install 'deadheat[cluster]'",
                    ) from error
                if version != own:
                    raise DeadheatError(
                        f"host {node.name} has {version}; this one has {own}",
                        "install the same versions on every host",
                    )


def nodes_of(rows: Sequence[dict[str, Any]]) -> list[Node]:
    """The nodes that are alive and offer a role, of what `ray.nodes()` returns."""
    return [
        Node(
            id=row["NodeID"],
            address=row["NodeManagerAddress"],
            name=row["NodeManagerHostname"],
            roles=tuple(role for role in ROLES if row["Resources"].get(role, 0) >= 1),
        )
        for row in rows
        if row["Alive"] and any(row["Resources"].get(role, 0) >= 1 for role in ROLES)
    ]


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise DeadheatError(
            f"a cluster run needs Ray: {error}", "install it: pip install 'deadheat[cluster]'"
        ) from error
    return ray


def _require_answer(address: str) -> None:
    """Ray itself waits for a minute for a cluster that is not there."""
    host, colon, port = address.rpartition(":")
    if not colon or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise DeadheatError(
            f"--address {address}: no Ray cluster answers: {error}", NODES
        ) from error


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
