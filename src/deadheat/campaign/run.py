"""`Run`: one run in the store, from its first row to its conclusion."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from deadheat import __version__
from deadheat.campaign.resolve import make_ready
from deadheat.campaign.resume import Unfinished
from deadheat.errors import DeadheatError, LinkLost
from deadheat.measure.world import World, by_role
from deadheat.protocol import Protocol
from deadheat.store import Store


@dataclass(slots=True)
class Run:
    """An open run. At the end, `conclusion` says why it stopped."""

    id: str
    conclusion: dict[str, Any] = field(default_factory=dict)


@contextmanager
def open_run(
    store: Store,
    world: World,
    protocol: Protocol,
    command: Sequence[str],
    seed: int,
    known: Mapping[str, Any] | None = None,
) -> Iterator[Run]:
    """Begin a run and store its hosts; end it as complete, interrupted or failed.

    `protocol` is the one that runs (see `resolve`). `known` is the part of its conclusion that is known from the start.
    """
    conclusion = dict(known or {})
    run_id = store.begin_run(
        protocol=protocol.model_dump(),
        command=command,
        seed=seed,
        deadheat_version=__version__,
        generator_version=f"{world.generator.name} {world.generator_version}",
        conclusion=conclusion,
    )
    with _ended(store, Run(run_id, conclusion)) as run:
        store.add_host(run.id, "server", world.server_cpus, world.server_host.fingerprint())
        for role, side in by_role(world.loads).items():
            store.add_host(run.id, role, side.cpus, side.host.fingerprint())
        yield run


@contextmanager
def reopen_run(store: Store, world: World, left: Unfinished) -> Iterator[Run]:
    """Resume a run that ended early, under the same id; end it as `open_run` does."""
    make_ready(left.protocol, world)
    left.require_same(world)
    run = Run(left.id, left.resumed())
    store.reopen_run(run.id, left.run.writer, run.conclusion)
    with _ended(store, run):
        yield run


@contextmanager
def _ended(store: Store, run: Run) -> Iterator[Run]:
    """End the run in the state that the block leaves it in."""
    state = "failed"
    try:
        yield run
        state = "complete"
    except KeyboardInterrupt:
        state = "interrupted"
        run.conclusion.setdefault("why", "interrupted")
        raise
    except (DeadheatError, LinkLost) as error:
        run.conclusion.setdefault("why", str(error))
        raise
    finally:
        run.conclusion.setdefault("why", "an error ended it" if state == "failed" else "done")
        store.end_run(run.id, state, run.conclusion)
