"""One run in the store, from its first row to its conclusion, whatever ends it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from deadheat import __version__
from deadheat.campaign.world import World
from deadheat.errors import DeadheatError
from deadheat.protocol import Protocol
from deadheat.store import Store


@dataclass(slots=True)
class Run:
    """An open run; `conclusion` says in the end why it stopped."""

    id: str
    conclusion: dict[str, Any] = field(default_factory=dict)


@contextmanager
def open_run(
    store: Store, world: World, protocol: Protocol, command: Sequence[str], seed: int
) -> Iterator[Run]:
    """Begin a run and its hosts; end it as complete, interrupted or failed."""
    run = Run(
        store.begin_run(
            protocol=protocol.model_dump(),
            command=command,
            seed=seed,
            deadheat_version=__version__,
            generator_version=f"{world.generator.name} {world.generator_version}",
        )
    )
    state = "failed"
    try:
        store.add_host(run.id, "server", world.server_cpus, world.server_host.fingerprint())
        store.add_host(run.id, "load", world.load_cpus, world.load_host.fingerprint())
        yield run
        state = "complete"
    except KeyboardInterrupt:
        state = "interrupted"
        run.conclusion.setdefault("why", "interrupted")
        raise
    except DeadheatError as error:
        run.conclusion.setdefault("why", str(error))
        raise
    finally:
        run.conclusion.setdefault("why", "an error ended it" if state == "failed" else "done")
        store.end_run(run.id, state, run.conclusion)
