"""`deadheat doctor`: checks this machine for what disturbs measurements."""

import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from rich.text import Text

from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import json_option
from deadheat.cli.race_options import machine_options
from deadheat.console import console
from deadheat.host import Host, HostError, ProcessSpec
from deadheat.host.doctor import Finding, Level, Machine, Tool, examine
from deadheat.host.ssh import SshHost
from deadheat.load import Engine, GeneratorMissing, generator, generator_version
from deadheat.measure.hosts import Hosts, host_of
from deadheat.output import echo, echo_json

WATCH_S = 1.0
READ_TIMEOUT_S = 10.0
CPU_FEATURES = ("grep", "-m1", "-E", "^(flags|Features)", "/proc/cpuinfo")
WIDTH = 80
GENERATORS = ("engine", "wrk", "ab")
INDENT = " " * 6
STYLES: dict[Level, str] = {"bad": "bold red", "warn": "yellow", "note": "cyan", "ok": "green"}


@listed("doctor")
@flag(
    "--strict",
    section=Topic.MEASUREMENT,
    is_flag=True,
    help="Exit with code 1 if a finding is bad.",
)
@machine_options
@json_option
def command(strict: bool, hosts: Hosts, as_json: bool) -> None:
    """It takes two seconds and changes nothing. Each finding has a level and, if there is one, the
    command that fixes it:

    \b
    bad    trials will fail their checks, or not run
    warn   results will spread more
    note   good to know
    ok     nothing to do

    \b
    Examples:
      deadheat doctor
      deadheat doctor --strict && deadheat run
      deadheat doctor --server-host lab@192.168.10.10
    """
    by_machine = {name: _examined(target) for name, target in _machines(hosts).items()}
    findings = [finding for several in by_machine.values() for finding in several]
    if as_json and hosts:
        echo_json({name: [asdict(f) for f in several] for name, several in by_machine.items()})
    elif as_json:
        echo_json([asdict(finding) for finding in findings])
    for name, several in by_machine.items() if not as_json else ():
        if hosts:
            echo(f"{name}:")
        _print(several)
    if strict and any(finding.level == "bad" for finding in findings):
        sys.exit(ExitCode.FAILED)


def _machines(hosts: Hosts) -> dict[str, str | None]:
    """Role -> what ssh reaches it by; None is this machine."""
    if not hosts:
        return {"this machine": None}
    pairs = [("server host", hosts.server), *(("load host", target) for target in hosts.loads)]
    return {f"{role} {target or '(this machine)'}": target for role, target in pairs}


def _examined(target: str | None) -> list[Finding]:
    with host_of(target) as host:
        return examine(look_at(host))


def look_at(host: Host) -> Machine:
    """Read a host for one second without load from deadheat."""
    watch = host.watch([], WATCH_S)
    host.sleep(WATCH_S)
    samples = host.unwatch(watch)
    swaps = host.run(ProcessSpec(("cat", "/proc/swaps")), READ_TIMEOUT_S).stdout
    features = host.run(ProcessSpec(CPU_FEATURES), READ_TIMEOUT_S).stdout
    tools = [_tool(host, name) for name in GENERATORS]
    return Machine(host.fingerprint(), samples, tools, swaps, _transports(host), features)


def _tool(host: Host, name: str) -> Tool:
    required = name == "engine"
    if required and isinstance(host, SshHost):
        return Tool(name, "sent with the first run", "it comes with deadheat", required)
    try:
        program = generator(name)
        return Tool(name, generator_version(program, host), program.install_hint(), required)
    except GeneratorMissing as error:
        return Tool(name, None, error.hint or str(error), required)


def _transports(host: Host) -> str | None:
    """What the load engine speaks; None if there is none, or none yet."""
    if isinstance(host, SshHost):
        return None
    try:
        engine = Engine()
        return engine.transports(host.run(ProcessSpec(engine.version_command()), READ_TIMEOUT_S))
    except (GeneratorMissing, HostError):
        return None


def _print(findings: Sequence[Finding]) -> None:
    out = console()
    for finding in findings:
        line = Text(f"{finding.level:6}", style=STYLES[finding.level])
        line.append(f"{finding.topic}: {finding.reading}", style="default")
        out.print(line, soft_wrap=True)
        if finding.level != "ok":
            meaning = textwrap.fill(
                finding.meaning,
                WIDTH,
                initial_indent=INDENT,
                subsequent_indent=INDENT,
                break_on_hyphens=False,
            )
            out.print(Text(meaning), soft_wrap=True)
        if finding.command is not None:
            out.print(Text(f"{INDENT}$ {finding.command}", style="bold"), soft_wrap=True)
    counts = Counter(finding.level for finding in findings)
    out.print(Text(", ".join(f"{counts[level]} {level}" for level in STYLES)))
