"""`Run`: one run in the store, from its first row to its conclusion."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deadheat import __version__
from deadheat.campaign.resume import Unfinished
from deadheat.errors import DeadheatError, LinkLost
from deadheat.host import Host
from deadheat.measure.world import World, by_role
from deadheat.protocol import Protocol
from deadheat.store import Conclusion, Store


@dataclass(slots=True)
class Run:
    """An open run. At the end, `conclusion` says why it stopped."""

    id: str
    conclusion: Conclusion

    def conclude(self, **values: Any) -> None:
        """Set these fields of the conclusion, which is stored when the run ends."""
        self.conclusion = self.conclusion.changed(**values)

    def end_as(self, why: str) -> None:
        """Why it stopped, if nothing closer to it has said so."""
        self.conclude(why=self.conclusion.why or why)


@contextmanager
def open_run(
    store: Store,
    world: World,
    protocol: Protocol,
    command: Sequence[str],
    seed: int,
    known: Conclusion | None = None,
) -> Iterator[Run]:
    """Begin a run and store its hosts; end it as complete, interrupted or failed.

    `known` is the part of its conclusion that is known from the start.
    """
    run_id = store.begin_run(
        protocol=protocol,
        command=command,
        seed=seed,
        deadheat_version=__version__,
        generator_version=f"{world.generator.name} {world.generator_version}",
        conclusion=known,
    )
    with _ended(store, Run(run_id, known or Conclusion())) as run:
        _ready(world, protocol)
        store.add_host(run.id, "server", world.server_cpus, world.server_host.fingerprint())
        for role, side in by_role(world.loads).items():
            store.add_host(run.id, role, side.cpus, side.host.fingerprint())
        yield run


@contextmanager
def reopen_run(store: Store, world: World, left: Unfinished) -> Iterator[Run]:
    """Resume a run that ended early, under the same id; end it as `open_run` does."""
    _ready(world, left.protocol)
    left.require_same(world)
    run = Run(left.id, left.resumed())
    store.reopen_run(run.id, left.run.writer, run.conclusion)
    with _ended(store, run):
        yield run


def _ready(world: World, protocol: Protocol) -> None:
    """Bring the machines into the state that the protocol asks for; fingerprints show it."""
    if protocol.awake:
        for host in _hosts(world):
            host.keep_awake()


def as_measured(protocol: Protocol, world: World) -> Protocol:
    """The protocol on these machines: where idle CPUs sleep, more of each slice is discarded."""
    if protocol.slices is None or all(_is_awake(host) for host in _hosts(world)):
        return protocol
    rule = protocol.slices
    more = {
        name: round(getattr(rule, name) + rule.asleep_discard_s, 6)
        for name in ("discard_s", "renew_discard_s")
    }
    return protocol.model_copy(update={"slices": rule.model_copy(update=more)})


def _is_awake(host: Host) -> bool:
    return host.fingerprint().cpu.idle.wake_up_us is not None


def _hosts(world: World) -> list[Host]:
    return [world.server_host, *(side.host for side in world.loads)]


@contextmanager
def _ended(store: Store, run: Run) -> Iterator[Run]:
    """End the run in the state that the block leaves it in."""
    state = "failed"
    try:
        yield run
        state = "complete"
    except KeyboardInterrupt:
        state = "interrupted"
        run.end_as("interrupted")
        raise
    except (DeadheatError, LinkLost) as error:
        run.end_as(str(error))
        raise
    finally:
        run.end_as("an error ended it" if state == "failed" else "done")
        store.end_run(run.id, state, run.conclusion)
