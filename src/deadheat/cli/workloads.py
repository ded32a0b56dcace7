"""`deadheat workloads`: lists the workloads."""

import click

from deadheat.catalog import find_root
from deadheat.cli.options import catalog_option, json_option
from deadheat.foreign_text import escaped, printable
from deadheat.output import echo, echo_json
from deadheat.workload import load_workload, workload_names
from deadheat.workload.wire import wire


@click.command("workloads")
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@catalog_option
@json_option
def command(names: tuple[str, ...], catalog: str | None, as_json: bool) -> None:
    """List the workloads, or show the requests and answers of some.

    WORKLOAD is a name or a file.

    \b
    Examples:
      deadheat workloads
      deadheat workloads route
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
