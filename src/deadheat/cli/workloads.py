"""`deadheat workloads`: lists the workloads."""

from typing import Any

import click

from deadheat.catalog import find_root
from deadheat.cli.help import Command
from deadheat.cli.options import catalog_option, json_option
from deadheat.cli.workloads_import import command as import_command
from deadheat.foreign_text import escaped, printable
from deadheat.output import echo, echo_json
from deadheat.workload import load_workload, workload_names
from deadheat.workload.model import wire


class _WithImport(Command):
    """`deadheat workloads import` is a separate command; any other word is a workload."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args[:1] == ["import"]:
            return import_command.make_context(f"{info_name} import", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("workloads", cls=_WithImport)
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@catalog_option
@json_option
def command(names: tuple[str, ...], catalog: str | None, as_json: bool) -> None:
    """List the workloads, or show the requests of some.

    A workload is the requests that are sent and the right answer to each: `deadheat run --workload
    NAME`. WORKLOAD is a name or a file. `deadheat workloads import --help` says how to make one
    from recorded requests.

    \b
    Examples:
      deadheat workloads
      deadheat workloads route
      deadheat workloads import recorded.har
    """
    root = find_root(catalog)
    workloads = [load_workload(root, name) for name in names or workload_names(root)]
    if as_json:
        echo_json([workload.model_dump() for workload in workloads])
    elif names:
        echo(printable("\n".join(wire(workload) for workload in workloads).rstrip()))
    else:
        for workload in workloads:
            echo(f"{workload.name:15} {escaped(workload.about)}")
