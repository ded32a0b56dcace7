"""Commands that read: the catalog of the tests, the shipped one, stored runs; errors; help."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from deadheat.cli import SUMMARIES
from deadheat.load import find_engine
from tests.golden.command_line import CommandLine, Output, session
from tests.golden.stored import AGAIN_ID, REPLAY_ID, copies_run
from tests.servers.contenders import CATALOG

BLOG = """\
row,connections,rate_per_s,precision,source
alpha,100,9100,1,a blog
beta,100,8000,1,a blog
"""
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
    "errors/bad-url.txt": ["run", "--protocol", "brief", "--url", "ftp://127.0.0.1/"],
    "errors/no-store.txt": ["report", "--store", "nowhere.sqlite"],
    "errors/no-bundle.txt": ["import", "nowhere.deadheat"],
}
OF_THIS_MACHINE: dict[str, Sequence[str]] = {
    "list/all.txt": ["list"],
    "list/one.json": ["list", "dies-mid-trial", "--json"],
    "build/outcomes.txt": ["build", "hello"],
}
IN_CONTAINERS = (
    *("elixir-bandit", "go-gin", "java-jetty", "lisp-woo", "nginx-static", "node-express"),
    *("python-gunicorn", "ruby-puma", "rust-axum"),
)
ON_THE_SHIPPED_CATALOG: dict[str, Sequence[str]] = {
    "protocols/shipped.txt": ["protocols"],
    "plan/quick.txt": ["plan", "--protocol", "quick", "go-gin", "node-http"],
    "plan/settle.txt": ["plan", "go-gin", "node-http"],
    "audit/replay.txt": ["audit", "woo-2016", REPLAY_ID, "--against", AGAIN_ID],
    "audit/replay.md": ["audit", "woo-2016", REPLAY_ID, "--format", "md"],
    "audit/decay.txt": ["audit", "decay"],
    **{f"containerfile/{name}.txt": ["containerfile", name] for name in IN_CONTAINERS},
}


def _commands(
    of: dict[str, Sequence[str]], shipped: bool = False, observed: bool = False
) -> dict[str, Output]:
    return {
        name: partial(session, arguments, shipped=shipped, observed=observed)
        for name, arguments in of.items()
    }


def _helps() -> dict[str, Output]:
    outputs: dict[str, Output] = {"help/deadheat.txt": partial(session, ["--help"])}
    for name in SUMMARIES:
        outputs[f"help/{name}.txt"] = partial(session, [name, "--help"])
    outputs["help/deadheat-load.txt"] = _engine_help
    return outputs


def _engine_help(line: CommandLine) -> str:
    done = subprocess.run([find_engine(), "--help"], capture_output=True, text=True, check=True)
    return line.scrubbed(done.stdout)


def _audit_of_a_table(line: CommandLine) -> str:
    (line.folder / "blog.csv").write_text(BLOG)
    return session(["audit", "--import", "blog.csv", "{levels}"], line)


def _new(line: CommandLine) -> str:
    shutil.copytree(CATALOG, line.folder / "catalog")
    return session(["new", "mine", "--like", "hello", "--catalog", "catalog"], line)


def _faulty_manifest(line: CommandLine) -> str:
    shutil.copytree(CATALOG, line.folder / "catalog")
    manifest = line.folder / "catalog/servers/never-ready/server.toml"
    manifest.write_text(manifest.read_text().replace("worker =", "wroker ="))
    return session(["list", "--catalog", "catalog"], line, observed=True)


def _bundle(line: CommandLine) -> str:
    """Exported, imported elsewhere, and reported there."""
    other = ["--store", "other.sqlite"]
    return "".join(
        session(words, line, observed=True)
        for words in (
            ["export", "{capacity}", "-o", "run.deadheat"],
            ["import", "run.deadheat", *other],
            ["import", "run.deadheat", *other],
            ["report", *other],
        )
    )


def _clean(line: CommandLine) -> str:
    """A home with a log and a build: refused, deleted, and nothing left."""
    own = replace(line, home=line.folder / "home")
    for name in ("logs/hello-20000.log", "builds/hello/0123456789ab/hello"):
        (own.home / name).parent.mkdir(parents=True)
        (own.home / name).write_bytes(b"x" * (3 << 20))
    store = ["--store", "nowhere.sqlite"]
    return "".join(
        session(words, own)
        for words in (
            ["clean"],
            ["clean", "--yes"],
            ["clean", "--runs-older-than", "30", "--yes", *store],
        )
    )


def _calibration(line: CommandLine) -> str:
    """The conclusion of a stored race of copies; a report after it quotes it."""
    race = copies_run(line.folder / "runs.sqlite")
    store = ["--store", "runs.sqlite"]
    return "".join(
        session(words, line, observed=True)
        for words in (["calibrate", "--from", race, *store], ["report", race, *store])
    )


COMMANDS: dict[str, Output] = {
    **_helps(),
    **_commands(SESSIONS),
    **_commands(OF_THIS_MACHINE, observed=True),
    **_commands(ON_THE_SHIPPED_CATALOG, shipped=True),
    "list/missing.txt": partial(session, ["list", "hello"], observed=True, bare=True),
    "list/faulty-manifest.txt": _faulty_manifest,
    "audit/imported-table.txt": _audit_of_a_table,
    "runs/bundle.txt": _bundle,
    "calibrate/stored-race.txt": _calibration,
    "new/copy.txt": _new,
    "clean/logs-and-builds.txt": _clean,
}
