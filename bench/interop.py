#!/usr/bin/env python3
"""Each transport with real servers: our counts beside their own logs, our rate beside h2load.

    python bench/interop.py [SERVER...] [--transport h2,h2c] [--seconds 1] [--rounds 6] [-o FILE]
    python bench/interop.py --show docs/results/interop.json

With -o, the file keeps its loads of other servers.

Each server of the catalog starts on the first CPUs and warms up. Then deadheat-load and h2load
load it from the other CPU, one after the other, in turns. Both open their connections and load it
for half a second before the second that they count: a handshake takes as long as several requests.
nginx, h2o and Apache httpd write an access log meanwhile, which is the only change to them: its
lines have to be the requests that were sent. A rate of a client that used its CPU whole is its own
limit, and not the server's. A ratio has the 95 % interval of the geometric mean of the rounds'
ratios (Student's t on logarithms). Below the table are the rows that differ from 1 with intervals
that hold jointly over all rows (Bonferroni).
"""

import argparse
import dataclasses
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean, mean, median, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.generators import ROOT, engine
from deadheat.build.prepare import prepare
from deadheat.build.runtime import builder_on
from deadheat.catalog import choose, load_catalog, selection
from deadheat.catalog.manifest import HTTP, HTTP2, TRANSPORTS
from deadheat.errors import DeadheatError
from deadheat.events import Event
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, Instance, compiler_of, contender_from
from deadheat.measure.hosts import local_world
from deadheat.measure.world import World
from deadheat.stats.distributions import t_critical
from deadheat.stats.warmup.warm_rule import Compiler

SERVERS = (
    *("nginx-static", "h2o-static", "apache-static", "go-caddy-static", "go-net-http"),
    *("node-http", "rust-hyper", "rust-actix-web", "java-netty", "java-undertow", "java-jetty"),
    *("python-hypercorn", "python-granian", "nghttpd"),
)
NGHTTPD = ("--address", "127.0.0.1", "--htdocs", ".")
MADE = {  # the words behind its name; not in the catalog, because it lacks HTTP/1.1
    "nghttpd": {
        "h2": (*NGHTTPD, "{port}", "{key}", "{cert}"),
        "h2c": (*NGHTTPD, "--no-tls", "{port}"),
    }
}
LOGS = {  # the file of a server's configuration, and what an access log adds to it
    "nginx-static": ("site.conf", "server {", "server {{ access_log {log};"),
    "h2o-static": ("h2o.conf", "max-connections", "access-log: {log}\nmax-connections"),
    "apache-static": ("site.conf", "TypesConfig", "CustomLog {log} %>s\nTypesConfig"),
}
WARM_S = {Compiler.NONE: 0.5, Compiler.JIT: 3.0, Compiler.TIERED: 8.0}
CONNECT_MS = 500  # of load before the one that counts: a client opens its connections in it
LOG_S = 0.5  # until the last lines are written
ENDS_S = 30.0  # after the time of a load
CLIENT_BUSY = 0.95  # of its CPU


def main() -> int:
    args = arguments()
    if args.show:
        print(report(json.loads(args.show.read_text())["loads"]))
        return 0
    if shutil.which("h2load") is None:
        sys.exit("h2load is not installed: apt-get install nghttp2-client nghttp2-server")
    loads: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, local_world("engine", 1) as world:
        Path(folder).chmod(0o755)  # Apache httpd writes its log as nobody
        for load in measure(world, args, with_logs(Path(folder), args.servers)):
            loads.append(load)
            print(table([load]).splitlines()[-1], file=sys.stderr, flush=True)
    if args.output:
        store(args.output, loads)
    print(report(loads))
    return 0 if all(agrees(load) for load in loads) else 1


def store(path: Path, loads: Sequence[dict[str, Any]]) -> None:
    """The file keeps its loads of other servers, and the commands that measured them."""
    before = json.loads(path.read_text()) if path.exists() else {"commands": [], "loads": []}
    servers = {load["server"] for load in loads}
    kept = [load for load in before["loads"] if load["server"] not in servers]
    commands = [*before["commands"], " ".join(["python", *sys.argv])]
    path.write_text(json.dumps({"commands": commands, "loads": [*kept, *loads]}, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the engine beside h2load and servers' logs")
    parser.add_argument("servers", nargs="*", default=SERVERS, metavar="SERVER")
    parser.add_argument("--transport", default="https,h2,h2c", help="(default https,h2,h2c)")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--streams", type=int, default=10, help="of HTTP/2 (default 10)")
    parser.add_argument("--seconds", type=int, default=1, help="length of a load (default 1)")
    parser.add_argument("--rounds", type=int, default=6, help="loads of each (default 6)")
    parser.add_argument("--show", type=Path, help="print a stored result instead, in Markdown")
    parser.add_argument("-o", "--output", type=Path, help="write every load as JSON")
    args = parser.parse_args()
    args.transports = args.transport.split(",")
    if unknown := set(args.transports) - set(TRANSPORTS):
        parser.error(f"--transport {min(unknown)}: expected some of {', '.join(TRANSPORTS)}")
    return args


def with_logs(folder: Path, servers: Sequence[str]) -> Path:
    """A catalog of these servers, in which those of `LOGS` write a log: `folder`/NAME.log."""
    for name in ("recipes", "workloads", "protocols"):
        shutil.copytree(ROOT / name, folder / name)
    for path in (ROOT / "servers").iterdir():
        if not any(fnmatch(path.name, pattern) for pattern in servers):
            continue
        copied = Path(shutil.copytree(path, folder / "servers" / path.name))
        if path.name not in LOGS:
            continue
        file, before, after = LOGS[path.name]
        log = folder / f"{path.name}.log"
        log.touch()
        log.chmod(0o666)
        text = (copied / file).read_text()
        if text.count(before) != 1:
            sys.exit(f"{path.name}/{file}: expected `{before}` once; adapt LOGS of this script")
        (copied / file).write_text(text.replace(before, after.format(log=log)))
    return folder


def measure(world: World, args: argparse.Namespace, root: Path) -> Iterator[dict[str, Any]]:
    os.sched_setaffinity(0, world.load.cpus)  # of this script and of the clients
    for load, contender, warm_s in (*catalogued(world, args, root), *made(args, root)):
        if contender is None:
            yield load
            continue
        try:
            instance = lifecycle.start(world, contender)
        except DeadheatError as error:
            yield {**load, "fault": str(error).splitlines()[0]}
            continue
        try:
            ours, theirs = commands(args, instance, load["transport"])
            subprocess.run([*ours, "-d", f"{1000 * warm_s:.0f}ms"], capture_output=True)
            yield {**load, **turns(args, ours, theirs, root / f"{load['server']}.log")}
        finally:
            lifecycle.stop(world, instance)


def catalogued(
    world: World, args: argparse.Namespace, root: Path
) -> Iterator[tuple[dict[str, Any], Contender | None, float]]:
    """Each server of the catalog on each transport, with its warm-up, or with a fault."""
    names = [name for name in args.servers if name not in MADE]
    for server in choose(load_catalog(root), names) if names else ():
        spoken = [each for each in args.transports if each in (HTTP, *server.manifest.transports)]
        settings = ["default" if each == HTTP else each for each in spoken]
        chosen = [selection(server, name) for name in settings]
        candidates = prepare(chosen, world.server_host, builder_on(world.server_host), say)
        for transport, candidate in zip(spoken, candidates, strict=True):
            load: dict[str, Any] = {"server": server.name, "transport": transport}
            if candidate.built is None:
                fault = (candidate.fault or "it lacks a tool").splitlines()[0]
                yield {**load, "fault": fault}, None, 0.0
                continue
            contender = contender_from(candidate.selection, candidate.built)
            warm_s = WARM_S[compiler_of(candidate.selection)]
            yield {**load, "version": candidate.version}, contender, warm_s


def made(
    args: argparse.Namespace, root: Path
) -> Iterator[tuple[dict[str, Any], Contender | None, float]]:
    """The same of servers that are not in the catalog. They serve a file of `root`."""
    (root / "index.html").write_text("Hello, World!")
    for name in MADE.keys() & args.servers:
        for transport in (each for each in args.transports if each in MADE[name]):
            load = {"server": name, "transport": transport}
            if (program := shutil.which(name)) is None:
                yield {**load, "fault": "it is not installed"}, None, 0.0
                continue
            printed = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            command = (program, *MADE[name][transport])
            contender = Contender(name, "contender", command, cwd=str(root), any_body=True)
            load["version"] = printed.rpartition("/")[2].strip()
            yield load, contender.over(transport), WARM_S[Compiler.NONE]


def say(what: object) -> None:
    if isinstance(what, Event):
        print(what.what, file=sys.stderr)


def commands(
    args: argparse.Namespace, instance: Instance, transport: str
) -> tuple[list[str], list[str]]:
    """Of the engine and of h2load, without how long they load."""
    ours = [str(engine()), instance.url, "-c", str(args.connections), "--json", *instance.trust]
    theirs = ["h2load", "-t1", f"-c{args.connections}"]
    if transport in HTTP2:
        ours += ["--http2", "--streams", str(args.streams)]
        theirs += [f"-m{args.streams}"]
    else:
        theirs += ["--h1"]
    return ours, [*theirs, instance.url]


def turns(
    args: argparse.Namespace, ours: Sequence[str], theirs: Sequence[str], log: Path
) -> dict[str, Any]:
    """Each client in each round: what it counted, and what the server logged meanwhile."""
    rounds: dict[str, list[dict[str, Any]]] = {"deadheat-load": [], "h2load": []}
    for number in range(args.rounds):
        for name in sorted(rounds, reverse=bool(number % 2)):
            if name == "deadheat-load":
                command = [*ours, "-d", f"{args.seconds}s", "--warmup", f"{CONNECT_MS}ms"]
            else:
                command = [*theirs, f"-D{args.seconds}", f"--warm-up-time={CONNECT_MS}ms"]
            before = lines_of(log)
            begun_s, usage = time.monotonic(), os.times()
            done = ended(command, args.seconds + ENDS_S)
            took_s, after = time.monotonic() - begun_s, os.times()
            cpu_s = after.children_user + after.children_system
            cpu_s -= usage.children_user + usage.children_system
            counted = counts_of(done) if name == "deadheat-load" else counts_of_h2load(done)
            logged = None
            if log.exists():
                time.sleep(LOG_S)
                logged = lines_of(log) - before
            rounds[name].append({**counted, "logged": logged, "busy": round(cpu_s / took_s, 3)})
    return {"rounds": rounds}


def ended(command: Sequence[str], limit_s: float) -> "subprocess.CompletedProcess[str]":
    """h2load does not always end: it stayed at one load of a second for minutes."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"it did not end in {limit_s:g} s")


def lines_of(log: Path) -> int:
    if not log.exists():
        return 0
    with log.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))


def counts_of(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """Of the engine: requests of its preflight and its warm-up were sent, too."""
    if not done.stdout.startswith("{"):
        return {"fault": done.stderr.strip()[-300:]}
    document = json.loads(done.stdout)
    if error := document.get("preflight_error"):
        return {"fault": error}
    requests, before = document["requests"], document["warmup"]
    retried = (document["http2"] or {}).get("retried", 0)
    classes = Counter(document["classes"]) + Counter(before["classes"])
    return {
        "rate_per_s": document["rate_per_s"],
        "sent": requests["scheduled"] + requests["preflight"] + before["scheduled"] + retried,
        "failed": {name: n for name, n in classes.items() if name != "ok"},
    }


def counts_of_h2load(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    rate = re.search(r"finished in \S+, ([\d.]+) req/s", done.stdout)
    requests = re.search(
        r"requests: (\d+) total, (\d+) started, \d+ done, \d+ succeeded, (\d+) failed", done.stdout
    )
    if rate is None or requests is None:
        return {"fault": (done.stderr or done.stdout).strip()[-300:]}
    failed = int(requests[3])
    return {
        "rate_per_s": float(rate[1]),
        "sent": int(requests[2]) or int(requests[1]),
        "failed": {"failed": failed} if failed else {},
    }


@dataclasses.dataclass(frozen=True)
class Side:
    """One client on one server and transport, over its rounds."""

    rates_per_s: list[float]
    failed: int
    sent: int
    logged: int | None
    busy: float
    fault: str | None

    @classmethod
    def of(cls, rounds: Sequence[dict[str, Any]]) -> "Side":
        faults = [each["fault"] for each in rounds if "fault" in each]
        sound = [each for each in rounds if "fault" not in each]
        logged = [each["logged"] for each in sound]
        return cls(
            rates_per_s=[each["rate_per_s"] for each in sound],
            failed=sum(sum(each["failed"].values()) for each in sound),
            sent=sum(each["sent"] for each in sound),
            logged=None if None in logged or not logged else sum(logged),
            busy=median(each["busy"] for each in sound) if sound else math.nan,
            fault=faults[0] if faults else None,
        )


def agrees(load: dict[str, Any]) -> bool:
    """Whether all of our requests were answered right, and the server logged each once."""
    if "rounds" not in load:
        return False
    ours = Side.of(load["rounds"]["deadheat-load"])
    return ours.fault is None and not ours.failed and ours.logged in (None, ours.sent)


def table(loads: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| server | transport | requests/s | failed | sent | in its log | h2load, requests/s | "
        "ratio | CPU of the engine, h2load |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for load in loads:
        cells = [load["server"], load["transport"]]
        if "rounds" not in load:
            lines.append(f"| {' | '.join([*cells, load['fault'], *'–––––', '–'])} |")
            continue
        ours, theirs = (Side.of(load["rounds"][name]) for name in ("deadheat-load", "h2load"))
        rates = [
            geometric_mean(side.rates_per_s) if side.rates_per_s else 0.0 for side in (ours, theirs)
        ]
        cells += [
            ours.fault or f"{rates[0]:,.0f}",
            f"{ours.failed:,}",
            f"{ours.sent:,}",
            "–" if ours.logged is None else f"{ours.logged:,}",
            theirs.fault or f"{rates[1]:,.0f}",
            ratio_of(ours.rates_per_s, theirs.rates_per_s),
            f"{ours.busy:.0%}, {theirs.busy:.0%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio_of(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The geometric mean of the rounds' ratios, with its interval if every round has one."""
    if not ours or not theirs:
        return "–"
    if (limits := interval_of(ours, theirs)) is None:
        return f"{geometric_mean(ours) / geometric_mean(theirs):.2f}"
    return "{:.2f} [{:.2f}, {:.2f}]".format(*limits)


def interval_of(
    ours: Sequence[float], theirs: Sequence[float], rows: int = 1
) -> tuple[float, float, float] | None:
    """The mean and the 95 % interval, which holds jointly over so many rows."""
    if len(ours) != len(theirs) or len(ours) < 2:
        return None
    logs = [math.log(own / other) for own, other in zip(ours, theirs, strict=True)]
    half = float(t_critical(0.025 / rows, len(logs) - 1)) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean(logs)), math.exp(mean(logs) - half), math.exp(mean(logs) + half)


def report(loads: Sequence[dict[str, Any]]) -> str:
    """The table, and in how many of its rows both clients agree on the rate."""
    sides = {
        f"{load['server']} over {load['transport']}": (
            Side.of(load["rounds"]["deadheat-load"]),
            Side.of(load["rounds"]["h2load"]),
        )
        for load in loads
        if "rounds" in load
    }
    rates = {row: (ours.rates_per_s, theirs.rates_per_s) for row, (ours, theirs) in sides.items()}
    own = [each for ours, theirs in rates.values() if (each := interval_of(ours, theirs))]
    if not own:
        return table(loads)
    contain = sum(low <= 1 <= high for _, low, high in own)
    apart = []
    for row, (ours, theirs) in rates.items():
        ratio, low, high = interval_of(ours, theirs, len(own)) or (1.0, 1.0, 1.0)
        if not low <= 1 <= high:
            busy = f"h2load used {sides[row][1].busy:.0%} of its CPU"
            apart.append(f"{row}, {ratio:.2f} [{low:.2f}, {high:.2f}] ({busy})")
    middle = median(ratio for ratio, _, _ in own)
    return (
        f"{table(loads)}\n\n{contain} of {len(own)} intervals contain 1, and the median of the "
        f"ratios is {middle:.2f}. With intervals that hold jointly, these differ from 1: "
        f"{'; '.join(apart) or 'none'}."
    )


if __name__ == "__main__":
    sys.exit(main())
