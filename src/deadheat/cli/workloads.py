"""`deadheat workloads`: lists the workloads."""

import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from deadheat.catalog import faults_text, find_root
from deadheat.catalog.toml_lines import BYTES_MAX
from deadheat.cli.help import Command, Topic, flag, listed
from deadheat.cli.options import FILE, catalog_option, json_option
from deadheat.errors import DeadheatError, UsageFault
from deadheat.foreign_text import escaped, printable
from deadheat.numbers import count
from deadheat.output import echo, echo_json
from deadheat.protocol import load_protocol, protocol_names
from deadheat.workload import HELLO, Workload, load_workload, workload_names
from deadheat.workload.model import wire
from deadheat.workload.recorded import Imported, read_curl, read_har, workload_text


@click.command("import", cls=Command)
@click.argument("file", type=FILE, required=False, metavar="[FILE.har]")
@flag(
    "--curl",
    "curl",
    section=Topic.STORED_RUNS,
    metavar="COMMAND",
    help="A curl command instead of a file.",
)
@flag(
    "-o",
    "--output",
    section=Topic.OUTPUT,
    type=FILE,
    help="File to write.  [default: FILE.toml here]",
)
def import_command(file: Path | None, curl: str | None, output: Path | None) -> None:
    """Write a workload from a HAR file or a curl command, without its secrets.

    Cookies, Authorization and what else looks like a secret are removed, and the output names them.
    The workload checks the status and media type of each answer; to check more, add `body` to
    `expect`.

    \b
    Examples:
      deadheat workloads import recorded.har
      deadheat workloads import --curl 'curl http://127.0.0.1:8080/items?page=2' -o items.toml
    """
    if (file is None) == (curl is None):
        raise click.UsageError("give a HAR file, or --curl COMMAND")
    output = output or Path(f"{_slug(file.stem if file else 'imported')}.toml")
    if output.suffix != ".toml" or _slug(output.stem) != output.stem or output.stem == HELLO:
        raise DeadheatError(
            f"-o {output}: expected a file such as items.toml, and not {HELLO}.toml",
            "its name is that of the workload: lower-case letters, digits and hyphens",
        )
    recorded = [read_curl(curl)] if curl is not None else read_har(file or Path())
    source = "a curl command" if curl is not None else file.name if file else ""
    imported = workload_text(output.stem, source, recorded)
    _require_valid(imported)
    try:
        with output.open("x", encoding="utf-8") as opened:
            opened.write(imported.text)
    except FileExistsError as error:
        raise DeadheatError(f"{output} exists already", "name another file with -o") from error
    _report(imported, output)


def _require_valid(imported: Imported) -> None:
    if not imported.requests:
        reasons = "; ".join(imported.left_out) or "there are none"
        raise UsageFault(f"no request can be imported: {reasons}", "write the file yourself")
    if len(imported.text.encode()) > BYTES_MAX:
        raise UsageFault(
            f"the workload has more than {BYTES_MAX // 1024} KiB", "record fewer requests"
        )
    values = tomllib.loads(imported.text)
    try:
        Workload.model_validate(values)
    except ValidationError as error:
        raise UsageFault(
            f"the requests are no workload: {faults_text(error, values)}",
            "record fewer or other requests",
        ) from error


def _report(imported: Imported, output: Path) -> None:
    """What was written, what was removed, and how to use it."""
    echo(f"wrote {output}: {count(imported.requests, 'request')}")
    echo(f"removed:  {_listed(imported.removed) or 'nothing looked like a secret'}")
    if imported.left_out:
        echo(f"left out: {_listed(imported.left_out)}")
    echo("read the file before you share it: no rule finds every secret")
    words = ("deadheat", "run", "--workload", str(output), "--url", escaped(f"{imported.origin}/"))
    echo(f"next:     {shlex.join(words)}")


def _listed(counts: Counter[str]) -> str:
    return "; ".join(f"{escaped(what)} ({count(n, 'request')})" for what, n in counts.items())


def _slug(text: str) -> str:
    """The text as the name of a workload."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "imported"


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


@listed("workloads", _WithImport)
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@catalog_option
@json_option
def command(names: tuple[str, ...], catalog: str | None, as_json: bool) -> None:
    """A workload is the requests that are sent and the right answer to each: `deadheat run
    --workload NAME`. WORKLOAD is a name or a file. `deadheat workloads import --help` says how to
    make one from recorded requests.

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


@listed("protocols")
@catalog_option
@json_option
def protocols_command(catalog: str | None, as_json: bool) -> None:
    """A protocol is a file that says what a run measures and how: `deadheat run --protocol NAME`.

    \b
    Examples:
      deadheat protocols
      deadheat plan --protocol quick go-gin          what a run of one would do
    """
    root = find_root(catalog)
    protocols = [load_protocol(root, name) for name in protocol_names(root)]
    if as_json:
        echo_json([protocol.model_dump() for protocol in protocols])
        return
    for protocol in protocols:
        echo(f"{protocol.name:15} {escaped(protocol.about)}")
