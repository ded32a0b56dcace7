"""`deadheat doctor`: checks this machine for what disturbs measurements."""

import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.text import Text

from deadheat.cli.exit_codes import ExitCode
from deadheat.cli.options import json_option
from deadheat.console import console
from deadheat.host import Host, ProcessSpec
from deadheat.host.doctor import examine
from deadheat.host.local import LocalHost
from deadheat.host.machine import Finding, Level, Machine, Tool
from deadheat.load import GeneratorMissing, generator, generator_version
from deadheat.output import echo_json

WATCH_S = 1.0
CAT_TIMEOUT_S = 10.0
WIDTH = 80
GENERATORS = ("engine", "wrk", "ab")
INDENT = " " * 6
STYLES: dict[Level, str] = {"bad": "bold red", "warn": "yellow", "note": "cyan", "ok": "green"}


@click.command("doctor")
@click.option("--strict", is_flag=True, help="Exit with code 1 if a finding is bad.")
@json_option
def command(strict: bool, as_json: bool) -> None:
    """Check this machine for what disturbs measurements, and print commands that fix it.

    This takes a second and changes nothing. Each finding has a level. bad: trials will fail their
    gates or not run. warn: results will spread more. note: good to know. ok: nothing to do.

    \b
    Example:  deadheat doctor --strict && deadheat run
    """
    with LocalHost() as host:
        findings = examine(look_at(host))
    if as_json:
        echo_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    if strict and any(finding.level == "bad" for finding in findings):
        sys.exit(ExitCode.FAILED)


def look_at(host: Host) -> Machine:
    """Read a host for one second without load from deadheat."""
    watch = host.watch([], WATCH_S)
    host.sleep(WATCH_S)
    samples = host.unwatch(watch)
    swaps = host.run(ProcessSpec(("cat", "/proc/swaps")), CAT_TIMEOUT_S).stdout
    return Machine(host.fingerprint(), samples, [_tool(host, name) for name in GENERATORS], swaps)


def _tool(host: Host, name: str) -> Tool:
    required = name == "engine"
    try:
        program = generator(name)
        return Tool(name, generator_version(program, host), program.install_hint(), required)
    except GeneratorMissing as error:
        return Tool(name, None, error.hint or str(error), required)


def _print(findings: Sequence[Finding]) -> None:
    out = console()
    for finding in findings:
        line = Text(f"{finding.level:6}", style=STYLES[finding.level])
        line.append(f"{finding.topic}: {finding.reading}", style="default")
        out.print(line, soft_wrap=True)
        if finding.level != "ok":
            meaning = textwrap.fill(
                finding.meaning, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT
            )
            out.print(Text(meaning), soft_wrap=True)
        if finding.command is not None:
            out.print(Text(f"{INDENT}$ {finding.command}", style="bold"), soft_wrap=True)
    counts = Counter(finding.level for finding in findings)
    out.print(Text(", ".join(f"{counts[level]} {level}" for level in STYLES)))
