"""An attempt to carry out the plan of a run, on the machines of the command line."""

from dataclasses import dataclass
from pathlib import Path

from deadheat.campaign.campaign import Plan, conduct
from deadheat.cli.containers import Runtime, builder_of
from deadheat.cli.hosts import Hosts
from deadheat.cli.install import install_missing
from deadheat.cli.progress_view import progress_view
from deadheat.cli.quiet import asker, require_quiet
from deadheat.cli.two_hosts import world_on
from deadheat.cli.workbench import host_for_builds, warn_of_running_runs
from deadheat.host import Limits
from deadheat.store import Store


@dataclass(frozen=True, slots=True)
class Attempt:
    """How plans are carried out; a plan may take several attempts over links that get lost."""

    store_path: Path
    install: bool
    limits: Limits
    isolate: bool
    runtime: Runtime
    hosts: Hosts
    wait_quiet_s: float | None

    def __call__(self, plan: Plan) -> str:
        """Run the plan; returns the id of the run."""
        protocol, crowded = plan.protocol, plan.protocol.origin is not None
        port = protocol.origin.port if protocol.origin else None
        with (
            Store(self.store_path) as store,
            world_on(
                self.hosts,
                protocol.generator,
                protocol.threads,
                crowded,
                self.limits,
                self.isolate,
                port=port,
                containers=bool(self.runtime),
            ) as world,
            host_for_builds(world, self.limits, self.isolate) as host,
            builder_of(self.runtime, host, world, self.limits) as builder,
        ):
            warn_of_running_runs(store)
            if self.install:
                install_missing(host, [chosen.server for chosen in plan.selections])
            require_quiet(world, self.wait_quiet_s, asker())
            with progress_view() as listen:
                return conduct(plan, world, store, builder, listen)
