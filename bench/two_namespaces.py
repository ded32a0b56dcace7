"""A replay on one host, and again with its client on another: two namespaces of this machine.

The pair shows what the roles and the link change, not what two machines would measure: both
namespaces share these CPUs. The servers are built before the pair, through an sshd outside of the
namespaces, because these have no network. Needs root, `ip`, sshd, and the generator (wrk or ab).

    python -m bench.two_namespaces kzmake-2018 go-net-http go-gin --scale 0.034 -o docs/results

writes `PROTOCOL-one-host.deadheat` and `PROTOCOL-two-namespaces.deadheat` with the runs, and
`PROTOCOL-two-namespaces.md` with the audit of the pair. With `--prepare`, it only builds, into the
folder `--builds`; with `--builds` alone, it uses what was built there.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deadheat.store import Store
from deadheat.store.listing import run_summaries
from tests.hosts.bed import SERVER, Bed, refusal, sshd, two_hosts

FIRST_SCALE = 0.001  # of the run that builds


def environment() -> dict[str, str]:
    """What builds on the server host may need, such as the address of a registry."""
    left_out = {"HOME", "PATH", "PWD", "OLDPWD", "SHLVL", "_"}
    words = {name: value for name, value in os.environ.items() if name not in left_out}
    return {n: v for n, v in words.items() if v and not set(v) & set(" \t\n\"'\\\\")}


def far_home(builds: Path) -> dict[str, str]:
    return {"HOME": str(builds / "far-home")}


def run(bed: Bed, builds: Path, inside: bool, *words: str) -> None:
    """`deadheat WORDS` on the load host, or on this machine. Ends this program if it fails."""
    command = [sys.executable, "-c", "from deadheat.cli import main; main()", *words]
    print("+ deadheat", *words, flush=True)
    env = {**bed.environment, "DEADHEAT_HOME": str(builds / "home")}
    done = subprocess.run(bed.on_load_host(*command) if inside else command, env=env)
    if done.returncode not in (0, 4):  # 4: no trial was valid, and a replay shows them all
        raise SystemExit(done.returncode)


def newest(store_path: Path) -> str:
    with Store(store_path, read_only=True) as store:
        return run_summaries(store)[0].run_id


def prepare(bed: Bed, builds: Path, protocol: str, servers: Sequence[str]) -> None:
    """Build for both hosts, with the shortest run there is."""
    replay = ("run", "--protocol", protocol, *servers, "--duration-scale", str(FIRST_SCALE))
    short = (*replay, "--repetitions", "1", "--store", str(bed.folder / "building.sqlite"))
    with sshd(bed, environment() | far_home(builds), side=None, address="127.0.0.1"):
        here = ("--server-host", "root@127.0.0.1", "--server-address", "127.0.0.1")
        run(bed, builds, False, *short, *here)
    run(bed, builds, False, *short)


def measure(
    bed: Bed, builds: Path, protocol: str, servers: Sequence[str], scale: str, output: Path
) -> None:
    """Run the pair, and write its bundles and its audit."""
    store = bed.folder / "runs.sqlite"
    replay = ("run", "--protocol", protocol, *servers, "--duration-scale", scale)
    run(bed, builds, False, *replay, "--store", str(store))
    one_host = newest(store)
    where = ("--server-host", bed.target, "--server-address", SERVER)
    run(bed, builds, True, *replay, *where, "--store", str(store))
    namespaces = newest(store)
    for run_id, name in ((one_host, "one-host"), (namespaces, "two-namespaces")):
        bundle = output / f"{protocol}-{name}.deadheat"
        run(bed, builds, False, "export", run_id, "-o", str(bundle), "--store", str(store))
    page = output / f"{protocol}-two-namespaces.md"
    audit = ("audit", protocol, namespaces, "--against", one_host, "--format", "md")
    run(bed, builds, False, *audit, "-o", str(page), "--store", str(store))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("protocol")
    parser.add_argument("servers", nargs="+")
    parser.add_argument("--scale", default="0.034", help="of the published duration")
    parser.add_argument("--builds", type=Path, help="folder with the builds of an earlier time")
    parser.add_argument("--prepare", action="store_true", help="only build, into --builds")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the namespaces are removed
    if (reason := refusal()) is not None:
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as name:
        builds = (options.builds or Path(name) / "builds").absolute()
        (builds / "far-home").mkdir(parents=True, exist_ok=True)
        with two_hosts(Path(name), far_home(builds)) as bed:
            if options.prepare or options.builds is None:
                prepare(bed, builds, options.protocol, options.servers)
            if not options.prepare:
                scale, output = options.scale, options.output
                measure(bed, builds, options.protocol, options.servers, scale, output)


if __name__ == "__main__":
    main()
