#!/usr/bin/env python3
"""Do servers whose registry is unreachable here say of their upstream sources what holds?

    python -m bench.upstream SOURCES [--built FOLDER] [--output docs/results/upstream.json]

SOURCES has a git repository for each package (`woo`, or `OWNER+woo/repo`), with its history. For
each server that Hex, Quicklisp or nimble would have to install, the script looks up the versions
that its manifest and its lock name, and then, at exactly these commits, what the manifest claims:
the calls and options that the application uses, the limits that a setting has or lifts, and what
the published program did. FOLDER/NAME is a build of the folder NAME that was made by hand from
these sources; with it, each setting is started, verified and loaded as `deadheat verify --load`
does. Outcomes alone are stored, with the commits; nothing is built here.
"""

import argparse
import datetime
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deadheat.build.builder import Built
from deadheat.build.prepare import Candidate, ask_version
from deadheat.catalog import Selection, Server, find_root, load_catalog, selection
from deadheat.cli.verify import ALL_LEVELS
from deadheat.measure.hosts import local_world
from deadheat.measure.inspection import inspect

ROOT = Path(__file__).resolve().parents[1]
VERSION_FILES = (
    "mix.exs",
    "VERSION",
    "Makefile",
    "*.app",
    "*.app.src",
    "*.nimble",
    "*.asd",
    "*.sexp",
)
KZMAKE, WOO = "benchmark-app-servers", "woo"
PUBLISHED_AT = {KZMAKE: "c983c07", WOO: "7f5219c"}  # the program may be of another version
PACKAGE = re.compile(r"([\w-]+) (v?[\w.]+)(?: \((\w+)\))?")
HEX = re.compile(r'^  "([\w-]+)": \{:hex, :[\w-]+, "([^"]+)"', re.MULTILINE)
NIMBLE = re.compile(r'requires "https://\S+/([\w-]+)#(\w+)"')

COWBOY_1 = ("elixir-cowboy", "elixir-cowboy-plug", "elixir-cowboy-phoenix")
PLUG_COWBOY_1, PLUG_COWBOY_2 = COWBOY_1[1:], ("elixir-cowboy2-plug", "elixir-cowboy2-maru")


@dataclass(frozen=True, slots=True)
class Claim:
    """What the files of servers say, and the pattern that holds it in a package's `path`.

    With `absent`, no line may match.
    """

    servers: tuple[str, ...]
    says: str
    package: str
    path: str
    pattern: str
    absent: bool = False


def _program(server: str, path: str, *claims: tuple[str, str, bool]) -> list[Claim]:
    """What is said of a published program in a folder of its repository; whether it is there."""
    package = KZMAKE if path.startswith("servers/") else WOO
    return [
        Claim((server,), says, package, path, pattern, absent=not there)
        for says, pattern, there in claims
    ]


ELEVEN = ("the published body was 11 bytes", r'"[Hh]ello world"', True)
EVERY_PATH = ("the published program answered every path", r"\{:_, CowboyHandler", True)
NO_ROUTER = ("the published program answered every path", "Plug.Router", False)
NO_LIMITS = ("the published program set no limit", "max_(connections|keepalive)|backlog", False)
CLAIMS = (
    # Calls and options of the applications.
    Claim(("elixir-cowboy",), "it starts cowboy", "cowboy", "src/cowboy.erl", r"start_http/4"),
    Claim(("elixir-cowboy2",), "it starts cowboy", "cowboy", "src/cowboy.erl", r"start_clear/3"),
    Claim(PLUG_COWBOY_1, "100 acceptors", "plug_cowboy", "lib", r":acceptors, 100"),
    Claim(PLUG_COWBOY_2, "100 acceptors", "plug_cowboy", "lib", r":num_acceptors, 100"),
    Claim(("elixir-cowboy2-maru",), "it answers with text", "maru", "lib", r"def text\("),
    Claim(
        ("elixir-cowboy2-maru",), "init may change options", "maru", "lib", "overridable init: 2"
    ),
    Claim(("elixir-cowboy-phoenix",), "it answers with text", "phoenix", "lib", r"def text\(conn"),
    Claim(("elixir-cowboy-phoenix",), "init may change options", "phoenix", "lib", "callback init"),
    Claim(("elixir-bandit",), "no line at its start", "bandit", "lib", r"startup_log"),
    Claim(("elixir-bandit",), "no limit of connections", "thousand_island", "lib", r"\| :infinity"),
    Claim(("elixir-bandit",), "100 processes accept", "thousand_island", "lib", r"Defaults to 100"),
    Claim(
        ("nim-jester",), "a thread for each worker", "jester", "jester.nim", "settings.numThreads"
    ),
    Claim(("nim-jester",), "its backlog is the system's", "httpbeast", "src", "= SOMAXCONN"),
    Claim(
        ("nim-jester",), "by default a thread for each CPU", "httpbeast", "src", "countProcessors"
    ),
    Claim(("lisp-woo",), "its backlog cannot be more than 128", "woo", "src", r"<= backlog 128"),
    Claim(("lisp-woo",), "its workers are an option", "woo", "src/woo.lisp", r"\(worker-num "),
    Claim(
        ("lisp-wookie",), "its backlog is the system's", "wookie", "listener.lisp", "initform -1"
    ),
    # Limits that settings have or lift.
    Claim(
        ("elixir-cowboy",), "about 1024 open", "ranch", "src", r"max_connections, TransOpts, 1024"
    ),
    Claim(
        PLUG_COWBOY_1 + PLUG_COWBOY_2,
        "about 16384 open",
        "plug_cowboy",
        "lib",
        r":max_connections, 16_384",
    ),
    Claim(COWBOY_1 + PLUG_COWBOY_2, "1024 waiting", "ranch", "src/ranch_tcp.erl", "backlog, 1024"),
    Claim(
        COWBOY_1 + PLUG_COWBOY_2,
        "100 requests a connection",
        "cowboy",
        "src",
        r"max_keepalive, Opts, 100\b",
    ),
    Claim(
        ("elixir-cowboy2",),
        "its limit of 1000 requests a connection is lifted",
        "cowboy",
        "src",
        r"max_keepalive, Opts, 1000\b",
    ),
    # What the published programs did.
    *_program("elixir-cowboy", "servers/cowboy/lib", ELEVEN, EVERY_PATH, NO_LIMITS),
    *_program("elixir-cowboy-plug", "servers/cowboy-with-plug/lib", ELEVEN, NO_ROUTER, NO_LIMITS),
    *_program("elixir-cowboy2-plug", "servers/cowboy2-with-plug/lib", ELEVEN, NO_ROUTER, NO_LIMITS),
    *_program("elixir-cowboy2-maru", "servers/cowboy2-with-maru/lib", ELEVEN, NO_LIMITS),
    *_program(
        "elixir-cowboy-phoenix",
        "servers/cowboy-with-phoenix/lib",
        ELEVEN,
        NO_LIMITS,
        ("the published endpoint looked for static files", "plug Plug.Static", True),
        ("the published endpoint kept a session", "plug Plug.Session", True),
        ("the published endpoint logged each request", "plug Plug.Logger", True),
        ("the published endpoint had a socket", 'socket "/socket"', True),
        ("the published controller rendered a view", r"render\(\"index.text\"", True),
    ),
    *_program(
        "nim-jester",
        "servers/jester",
        ELEVEN,
        ("jester and httpbeast were not pinned", r"requires \"(jester|httpbeast)", False),
        ("the published answer had jester's default type", "text/plain", False),
    ),
    *_program(
        "lisp-woo",
        "benchmark/woo",
        (
            "the published program sent no Content-Type and answered every path",
            r"'\(200 \(\)",
            True,
        ),
        ("worker-num=4, as woo-2016 ran it second", "--worker", True),
    ),
    *_program(
        "lisp-wookie",
        "benchmark/wookie",
        ("the published program sent no Content-Type", "content-type", False),
        ("it has no option for workers", "worker", False),
    ),
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The repositories, by package."""

    repositories: dict[str, Path]

    @classmethod
    def of(cls, folder: Path) -> "Sources":
        repositories = {}
        for each in sorted(folder.iterdir()):
            for place in (each, each / "repo"):
                if (place / ".git").exists() or (place / "HEAD").exists():
                    repositories[each.name.rpartition("+")[2]] = place
        return cls(repositories)

    def git(self, package: str, *words: str) -> str:
        """What git prints; empty if it finds nothing."""
        command = ["git", "-C", str(self.repositories[package]), *words]
        return subprocess.run(command, capture_output=True, text=True).stdout

    def commit(self, package: str, *names: str) -> str | None:
        """The full id of the first of these commits or tags that the repository has."""
        for name in names:
            given = self.git(package, "rev-parse", "-q", "--verify", f"{name}^{{commit}}").strip()
            if given:
                return given
        return None

    def holds(self, claim: Claim, commit: str) -> bool:
        found, there = (
            bool(
                self.git(claim.package, "grep", "-l", "-E", "-e", pattern, commit, "--", claim.path)
            )
            for pattern in (claim.pattern, ".")
        )
        return there and found != claim.absent


def packages_of(server: Server) -> dict[str, tuple[str, str | None]]:
    """The packages that a manifest names: version, or commit; and the commit beside a version."""
    _, _, listed = (server.manifest.verified or "").partition("versions ")
    matches = [PACKAGE.fullmatch(each) for each in listed.split(", ")]
    return {match[1]: (match[2], match[3]) for match in matches if match}


def locked_of(server: Server) -> dict[str, str]:
    """What the folder's own lock names: versions of Hex, or commits of nimble."""
    texts = {
        path.name: path.read_text("utf-8") for path in server.folder.iterdir() if path.is_file()
    }
    return dict(HEX.findall(texts.get("mix.lock", ""))) | dict(
        NIMBLE.findall(texts.get("hello.nimble", ""))
    )


def verify_sources(sources: Sources, server: Server) -> dict[str, Any]:
    """The commits of a server's packages, and each claim of its files with whether it holds."""
    commits: dict[str, str] = {}
    differences: list[str] = []
    packages = packages_of(server)
    for package, (version, named) in packages.items():
        if package not in sources.repositories:
            differences.append(f"{package}: no source was given")
            continue
        commit = sources.commit(package, *filter(None, (named, version, f"v{version}")))
        if commit is None:
            differences.append(f"{package} {version}: the source has no such commit")
            continue
        commits[package] = commit
        if "." in version:
            pattern = rf"((version|vsn).*|^\"?){re.escape(version)}\b"
            files = sources.git(
                package, "grep", "-i", "-l", "-E", "-e", pattern, commit, "--", *VERSION_FILES
            )
            if not files:
                differences.append(f"{package} {version}: its source names another version")
    for package, locked in locked_of(server).items():
        verified = packages[package][0] if package in packages else "nothing"
        if locked not in (verified, commits.get(package)):
            differences.append(f"{package}: locked at {locked}, verified at {verified}")
    claims = []
    for claim in CLAIMS:
        if server.name not in claim.servers:
            continue
        named = (
            PUBLISHED_AT.get(claim.package)
            if claim.path.startswith(("servers/", "bench"))
            else None
        )
        if claim.package not in sources.repositories:
            differences.append(f"{claim.package}: no source was given")
            continue
        commit = sources.commit(claim.package, named) if named else commits.get(claim.package)
        holds = commit is not None and sources.holds(claim, commit)
        source = f"{claim.package}/{claim.path}"
        claims.append({"says": claim.says, "source": source, "commit": commit, "holds": holds})
        if not holds:
            differences.append(f"{claim.says}: not so in {source}")
    return {"commits": commits, "claims": claims, "differences": differences}


def verify_build(server: Server, path: Path) -> dict[str, Any]:
    """Start, verify and load each setting of a build that was made by hand."""
    with local_world("engine", 1) as world:
        host = world.server_host
        built = Built(server, "by hand", path, "", 0.0, {}, {}, cached=True)
        version = ask_version(host, built)
        chosen = [selection(server, name) for name in ("default", *server.manifest.settings)]
        return {
            each.name: _kept(
                inspect(world, Candidate(each, built, version, None), ALL_LEVELS), each
            )
            for each in chosen
        }


def _kept(inspection: Any, chosen: Selection) -> dict[str, Any]:
    row = inspection.to_json()
    keys = ("state", "version", "source_key", "fault", "behavior", "served", "cautions", "stop")
    print(f"{chosen.name}: {row['state']}{', ' + row['fault'] if row['fault'] else ''}", flush=True)
    return {key: row[key] for key in keys}


def main() -> None:
    parser = argparse.ArgumentParser(description="verify servers against their upstream sources")
    parser.add_argument("sources", type=Path)
    parser.add_argument("--built", type=Path, help="folder with a build of each server")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results/upstream.json")
    args = parser.parse_args()
    sources = Sources.of(args.sources)
    servers: dict[str, Any] = {}
    for name, server in load_catalog(find_root(str(ROOT))).all_servers.items():
        if server.manifest.verified is None:
            continue
        outcome = verify_sources(sources, server)
        holds = sum(claim["holds"] for claim in outcome["claims"])
        count = len(outcome["claims"])
        print(
            f"{name}: {holds} of {count} claims hold, {len(outcome['commits'])} packages",
            flush=True,
        )
        for difference in outcome["differences"]:
            print(f"  {difference}", flush=True)
        build = args.built and args.built / name
        settings = [selection(server, each).name for each in ("default", *server.manifest.settings)]
        runs = verify_build(server, build) if build and build.is_dir() else dict.fromkeys(settings)
        servers[name] = {**outcome, "contenders": runs}
    result = {"at": datetime.date.today().isoformat(), "servers": servers}
    args.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
