"""The contenders that a command line chooses, as the plan of a run."""

from dataclasses import dataclass

from deadheat.campaign.campaign import Plan
from deadheat.catalog import Catalog, FileFault, Selection, selection
from deadheat.cli.own import OwnServers
from deadheat.cli.replay import replay_lineup
from deadheat.cli.workbench import answering, chosen_servers, command_line
from deadheat.errors import DeadheatError
from deadheat.protocol import AloneProtocol, Protocol, SearchProtocol


@dataclass(frozen=True, slots=True)
class Choice:
    """The servers of the catalog that the command line names."""

    patterns: tuple[str, ...]
    languages: tuple[str, ...]
    setting: str
    workers: tuple[int | None, ...]  # None: as the setting says

    def __bool__(self) -> bool:
        return bool(self.patterns or self.languages)

    def selections(self, catalog: Catalog) -> list[Selection]:
        """Raises `FileFault` with every server that lacks the setting or the workers."""
        selections, faults = [], {}
        for server in chosen_servers(catalog, self.patterns, self.languages):
            for workers in self.workers:
                try:
                    selections.append(selection(server, self.setting, workers))
                except FileFault as fault:
                    faults[server.name] = fault
        if faults:
            hints = dict.fromkeys(fault.hint for fault in faults.values() if fault.hint)
            raise FileFault("\n".join(map(str, faults.values())), "; ".join(hints))
        return selections


def no_race(protocol: SearchProtocol) -> DeadheatError:
    """The error of a run or plan by a search."""
    return DeadheatError(
        f"--protocol {protocol.name}: it searches for a rate, and compares no servers",
        "deadheat capacity SERVERS searches; for a race, use another protocol",
    )


def new_plan(
    protocol: Protocol,
    catalog: Catalog,
    choice: Choice,
    own: OwnServers,
    seed: int,
    latency_s: float | None,
) -> Plan:
    """The plan of a new run. Raises `DeadheatError` for a choice that cannot be measured."""
    if isinstance(protocol, SearchProtocol):
        raise no_race(protocol)
    lineup = replay_lineup(protocol, catalog, choice.patterns, choice.languages)
    if lineup is not None:
        selections = list(lineup.selections)
    else:  # own servers race alone unless servers of the catalog are named too
        selections = choice.selections(catalog) if choice or not own else []
        selections = answering(selections, protocol)
    names = {chosen.name for chosen in selections}
    extra = own.contenders(names, protocol)
    return Plan(
        protocol=protocol,
        selections=selections,
        labels=lineup.labels if lineup else {},
        extra=extra,
        seed=seed,
        command=command_line(),
        latency_s=latency_s,
        missing=lineup.missing if lineup else {},
    )


def require_sense(plan: Plan) -> None:
    """Raises `DeadheatError` for a plan that cannot be carried out."""
    if plan.latency_s is not None and isinstance(plan.protocol, AloneProtocol):
        raise DeadheatError(
            f"--latency: protocol {plan.protocol.name} measures nothing but its own trials",
            "omit --latency, or race with --protocol settle",
        )
    if plan.left is None and len(plan.selections) + len(plan.extra) == 0:
        raise DeadheatError("no server to run", "`deadheat list` lists the servers")
