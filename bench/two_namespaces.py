"""Replays with their client on one host and on another: two namespaces of this machine.

Each replay runs once on this machine and once between two network namespaces with an sshd, in the
published roles: wrk or ab on the load host against 192.168.10.10. Both runs give the servers the
same CPUs and the client the others, so the pair shows what the link changes. It does not show what
two machines would measure. Needs root, `ip`, `sshd`, and the generator.

    uv run python -m bench.two_namespaces

writes for each protocol PROTOCOL-one-host.deadheat and PROTOCOL-two-namespaces.deadheat with the
runs, and PROTOCOL-two-namespaces.md with their audit. Servers are built first, outside of the
namespaces, because these have no route to a registry. `--build` only builds; with the same
`--builds FOLDER`, a later call measures.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.catalog import find_root
from deadheat.cli.endings import ExitCode
from deadheat.host.local import LocalHost
from deadheat.measure.world import split_cpus
from deadheat.protocol import load_protocol
from deadheat.report import load_view
from deadheat.store import Store
from deadheat.store.listing import run_summaries
from tests.hosts.bed import SERVER, Bed, refusal, two_hosts

ENDED = (ExitCode.OK, ExitCode.NO_ANSWER)  # without a valid trial: a replay shows all of them
INTERRUPTED_S = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where both hosts find the builds: the home of deadheat here is its cache folder there."""

    builds: Path

    @property
    def home(self) -> Path:
        return self.builds / "deadheat"

    @property
    def far_environment(self) -> dict[str, str]:
        """Of the sessions there, whose home is empty; rustup finds its toolchains by a variable."""
        rustup = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
        return {"XDG_CACHE_HOME": str(self.builds), "RUSTUP_HOME": rustup}


@dataclass(frozen=True, slots=True)
class Replay:
    """What is run on one host and on two. `scale` is of the published duration of a trial.

    `servers` are a few rows of the page which build on a plain Debian; `connections` is None for
    all published levels.
    """

    protocol: str
    generator: str
    servers: tuple[str, ...]
    scale: float
    connections: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Of `deadheat run`."""
        levels = ("--connections", self.connections) if self.connections else ()
        scale = ("--duration-scale", f"{self.scale:g}")
        return ("run", "--protocol", self.protocol, *self.servers, *scale, *levels)


REPLAYS = {
    replay.protocol: replay
    for replay in (
        Replay(
            "kzmake-2018",
            "wrk",
            ("go-fasthttp", "go-gin", "node-express", "python-gunicorn-flask"),
            scale=0.034,  # a second
        ),
        Replay(
            "landshark-2009",
            "ab",
            ("erlang-mochiweb", "python-cheroot", "python-django", "python-tornado"),
            scale=0.2,  # two seconds
            connections="100,1000",  # ab cannot open 10,000 in a short trial
        ),
    )
}


@contextmanager
def on_cpus(cpus: Collection[int]) -> Iterator[None]:
    """Processes that start within the context have these CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def deadheat(place: Place, words: Sequence[str], limit_s: float, bed: Bed | None = None) -> None:
    """`deadheat WORDS` on the load host, or on this machine. Ends this program if it fails."""
    print("+ deadheat", *words, flush=True)
    command = [sys.executable, "-c", "from deadheat.cli import main; main()", *words]
    environment: Mapping[str, str] = bed.environment if bed else os.environ
    process = subprocess.Popen(
        bed.on_load_host(*command) if bed else command,
        env={**environment, "DEADHEAT_HOME": str(place.home)},
        stdin=subprocess.DEVNULL,
    )
    try:
        code = process.wait(limit_s)
    except BaseException as error:
        process.terminate()
        process.wait(INTERRUPTED_S)
        if isinstance(error, subprocess.TimeoutExpired):
            raise SystemExit(f"stopped, because it took more than {limit_s:.0f} s") from error
        raise
    if code not in ENDED:
        raise SystemExit(code)


def newest(home: Path) -> str:
    """The id of the newest run. Ends this program if a server of it could not be measured."""
    with Store(home / "runs.sqlite", read_only=True) as store:
        run_id: str = run_summaries(store)[0].run_id
        view = load_view(store, run_id)
    if faults := [f"{each.name}: {each.fault}" for each in view.contenders if each.fault]:
        raise SystemExit("\n".join(["a pair needs every server in both runs:", *faults]))
    return run_id


def measure(place: Place, replay: Replay, limit_s: float, output: Path) -> None:
    """Run the pair, and write its bundles and its audit."""
    with LocalHost() as host:
        here = host.fingerprint()
    threads = load_protocol(find_root(), replay.protocol).threads
    server_cpus, load_cpus = split_cpus(here, threads, crowded=True)
    with ExitStack() as context:
        folder = Path(context.enter_context(tempfile.TemporaryDirectory()))
        with on_cpus(server_cpus):  # of the sshd there, and of all that its sessions start
            bed = context.enter_context(two_hosts(folder, place.far_environment))
        deadheat(place, replay.words, limit_s)
        one_host = newest(place.home)
        where = ("--server-host", bed.target, "--server-address", SERVER)
        with on_cpus(load_cpus):
            deadheat(place, (*replay.words, *where), limit_s, bed)
        namespaces = newest(place.home)
        for run_id, name in ((one_host, "one-host"), (namespaces, "two-namespaces")):
            bundle = output / f"{replay.protocol}-{name}.deadheat"
            bundle.unlink(missing_ok=True)
            deadheat(place, ("export", run_id, "-o", str(bundle)), limit_s)
        page = output / f"{replay.protocol}-two-namespaces.md"
        audit = ("audit", replay.protocol, namespaces, "--against", one_host, "--format", "md")
        deadheat(place, (*audit, "-o", str(page)), limit_s)
    print(page.read_text().partition("## The client on another host")[2].partition("\n## ")[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("protocols", nargs="*", help="kzmake-2018, landshark-2009; default: both")
    parser.add_argument("--servers", help="names with commas, instead of a few of each protocol")
    parser.add_argument("--scale", type=float, help="of the published duration; default: 1 or 2 s")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds that one command may take"
    )
    parser.add_argument("--builds", type=Path, help="folder that keeps the builds")
    parser.add_argument("--build", action="store_true", help="only build, into --builds")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the namespaces are removed
    protocols = options.protocols or [*REPLAYS]
    if unknown := [name for name in protocols if name not in REPLAYS]:
        parser.error(f"{unknown[0]}: expected {' or '.join(REPLAYS)}")
    reasons = [reason] if (reason := refusal()) is not None else []
    replays = [REPLAYS[name] for name in protocols]
    tools = [replay.generator for replay in replays]
    reasons += [f"{tool} is not installed" for tool in tools if shutil.which(tool) is None]
    if reasons:
        raise SystemExit("\n".join(reasons))
    if options.servers:
        replays = [replace(each, servers=tuple(options.servers.split(","))) for each in replays]
    if options.scale:
        replays = [replace(each, scale=options.scale) for each in replays]
    with tempfile.TemporaryDirectory() as folder:
        place = Place((options.builds or Path(folder)).absolute())
        place.home.mkdir(parents=True, exist_ok=True)
        names = sorted({name for replay in replays for name in replay.servers})
        deadheat(place, ("build", *names), options.limit)
        for replay in replays if not options.build else []:
            begun_s = time.monotonic()
            measure(place, replay, options.limit, options.output)
            print(f"{replay.protocol} took {time.monotonic() - begun_s:.0f} s", flush=True)


if __name__ == "__main__":
    main()
