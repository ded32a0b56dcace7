"""Every golden file by its name, with what makes it."""

import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from deadheat.cli import COMMANDS
from deadheat.load import find_engine
from tests.golden.acting import ACTING
from tests.golden.command_line import CommandLine, Output, session
from tests.golden.stored import AGAIN_ID, DECAY, REPLAY, REPLAY_ID

KINDS = ("settle", "levels", "invalid", "interrupted", "empty", "capacity")
SUFFIXES = {"md": "md", "csv": "csv", "json": "json"}
BLOG = (
    "row,connections,rate_per_s,precision,source\nalpha,100,9100,1,a blog\nbeta,100,8000,1,a blog\n"
)


def _report(kind: str, columns: int, line: CommandLine) -> str:
    return line.stdout("report", line.runs[kind], columns=columns)


def _format(kind: str, format_: str, line: CommandLine) -> str:
    return line.stdout("report", line.runs[kind], "--format", format_)


def _picture(kind: str, picture: str, line: CommandLine) -> str:
    return line.stdout("report", line.runs[kind], "--format", "svg", "--picture", picture)


def _bundle(bundle: Path, format_: str, line: CommandLine) -> str:
    return line.stdout("report", "--from", str(bundle), "--format", format_, columns=80)


def _reports() -> dict[str, Output]:
    outputs: dict[str, Output] = {}
    for kind in KINDS:
        for columns in (80, 120):
            outputs[f"report/{kind}-{columns}.txt"] = partial(_report, kind, columns)
        outputs[f"report/{kind}.md"] = partial(_format, kind, "md")
    for kind in ("levels", "invalid", "capacity"):
        outputs[f"report/{kind}.csv"] = partial(_format, kind, "csv")
        outputs[f"report/{kind}.json"] = partial(_format, kind, "json")
    for picture in ("bars", "languages", "latency"):
        outputs[f"report/levels-{picture}.svg"] = partial(_picture, "levels", picture)
    outputs["report/settle-bars.svg"] = partial(_picture, "settle", "bars")
    for name, bundle in (("replay", REPLAY), ("decay", DECAY)):
        outputs[f"report/{name}-80.txt"] = partial(_bundle, bundle, "terminal")
        outputs[f"report/{name}.md"] = partial(_bundle, bundle, "md")
    return outputs


def _helps() -> dict[str, Output]:
    outputs: dict[str, Output] = {"help/deadheat.txt": partial(session, ["--help"])}
    for name in COMMANDS:
        outputs[f"help/{name}.txt"] = partial(session, [name, "--help"])
    outputs["help/deadheat-load.txt"] = _engine_help
    return outputs


def _engine_help(line: CommandLine) -> str:
    done = subprocess.run([find_engine(), "--help"], capture_output=True, text=True, check=True)
    return line.scrubbed(done.stdout)


def _audit_of_a_table(line: CommandLine) -> str:
    (line.folder / "blog.csv").write_text(BLOG)
    return session(["audit", "--import", "blog.csv", "{levels}"], line)


SESSIONS: dict[str, Sequence[str]] = {
    "plan/listed.txt": ["plan", "--protocol", "paper", "--duration-scale", "0.5"],
    "plan/brief.txt": ["plan", "--protocol", "brief", "hello", "tires"],
    "plan/brief.json": ["plan", "--protocol", "brief", "hello", "--json"],
    "protocols/tests.txt": ["protocols"],
    "runs/list.txt": ["report", "--list"],
    "compare/runs.txt": ["compare", "{settle}", "{again}"],
    "compare/runs.json": ["compare", "{settle}", "{again}", "--json"],
    "compare/different-runs.txt": ["compare", "{levels}", "{settle}"],
    "compare/contenders.txt": ["compare", "alpha", "gamma", "--in", "{settle}"],
    "compare/contenders.json": ["compare", "alpha", "gamma", "--in", "{settle}", "--json"],
    "compare/dead-heat.txt": ["compare", "alpha", "beta", "--in", "{settle}"],
    "errors/no-such-run.txt": ["report", "nosuch"],
    "errors/no-such-command.txt": ["rum"],
    "errors/no-such-server.txt": ["plan", "--protocol", "brief", "hallo"],
    "errors/no-such-protocol.txt": ["run", "--protocol", "nosuch", "hello"],
    "errors/no-such-option.txt": ["run", "--conections", "10"],
    "errors/no-such-contender.txt": ["compare", "alpha", "nobody", "--in", "{settle}"],
    "errors/audit-of-nothing.txt": ["audit"],
    "errors/audit-of-no-replay.txt": ["audit", "settle", "{settle}"],
    "errors/bad-duration.txt": ["run", "hello", "--duration", "soon"],
    "errors/bad-url.txt": ["run", "--protocol", "brief", "--url", "https://127.0.0.1/"],
    "errors/no-store.txt": ["report", "--store", "nowhere.sqlite"],
    "errors/no-bundle.txt": ["import", "nowhere.deadheat"],
}
OF_THIS_MACHINE: dict[str, Sequence[str]] = {
    "list/all.txt": ["list"],
    "list/one.json": ["list", "dies-mid-trial", "--json"],
    "verify/outcomes.txt": ["verify", "hello", "not-found", "exits-at-start", "wrong-body"],
}
ON_THE_SHIPPED_CATALOG: dict[str, Sequence[str]] = {
    "protocols/shipped.txt": ["protocols"],
    "plan/quick.txt": ["plan", "--protocol", "quick", "go-gin", "node-http"],
    "plan/settle.txt": ["plan", "go-gin", "node-http"],
    "audit/replay.txt": ["audit", "woo-2016", REPLAY_ID, "--against", AGAIN_ID],
    "audit/replay.md": ["audit", "woo-2016", REPLAY_ID, "--format", "md"],
    "audit/decay.txt": ["audit", "decay"],
}


def _commands(
    of: dict[str, Sequence[str]], shipped: bool = False, observed: bool = False
) -> dict[str, Output]:
    return {
        name: partial(session, arguments, shipped=shipped, observed=observed)
        for name, arguments in of.items()
    }


OUTPUTS: dict[str, Output] = {
    **_reports(),
    **_helps(),
    **_commands(SESSIONS),
    **_commands(OF_THIS_MACHINE, observed=True),
    **_commands(ON_THE_SHIPPED_CATALOG, shipped=True),
    "audit/imported-table.txt": _audit_of_a_table,
    **ACTING,
}
