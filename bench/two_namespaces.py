"""A replay on one host, and again with its client on another: two namespaces of this machine.

The pair shows what the roles and the link change, not what two machines would measure: both
namespaces share these CPUs. The servers are built before the pair, through an sshd outside of the
namespaces, because these have no network. Needs root, `ip`, sshd, and the generator (wrk or ab).

    python bench/two_namespaces.py kzmake-2018 go-net-http go-gin --scale 0.034 -o docs/results

writes `PROTOCOL-one-host.deadheat` and `PROTOCOL-two-namespaces.deadheat` with the runs, and
`PROTOCOL-two-namespaces.md` with the audit of the pair.
"""

import argparse
import os
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


def run(bed: Bed, inside: bool, *words: str) -> None:
    """`deadheat WORDS` on the load host, or on this machine. Ends this program if it fails."""
    command = [sys.executable, "-c", "from deadheat.cli import main; main()", *words]
    print("+ deadheat", *words, flush=True)
    done = subprocess.run(bed.on_load_host(*command) if inside else command, env=bed.environment)
    if done.returncode not in (0, 4):  # 4: no trial was valid, and a replay shows them all
        raise SystemExit(done.returncode)


def newest(store_path: Path) -> str:
    with Store(store_path, read_only=True) as store:
        return run_summaries(store)[0].run_id


def pair(bed: Bed, protocol: str, servers: Sequence[str], scale: str, output: Path) -> None:
    folder = bed.folder
    store = folder / "runs.sqlite"
    replay = ("run", "--protocol", protocol, *servers)
    with sshd(bed, environment(), side=None, address="127.0.0.1"):
        here = ("--server-host", "root@127.0.0.1", "--server-address", "127.0.0.1")
        first = ("--duration-scale", str(FIRST_SCALE), "--repetitions", "1")
        run(bed, False, *replay, *here, *first, "--store", str(folder / "building.sqlite"))
    run(bed, False, *replay, "--duration-scale", scale, "--store", str(store))
    one_host = newest(store)
    where = ("--server-host", bed.target, "--server-address", SERVER)
    run(bed, True, *replay, *where, "--duration-scale", scale, "--store", str(store))
    namespaces = newest(store)
    for run_id, name in ((one_host, "one-host"), (namespaces, "two-namespaces")):
        bundle = output / f"{protocol}-{name}.deadheat"
        run(bed, False, "export", run_id, "-o", str(bundle), "--store", str(store))
    page = output / f"{protocol}-two-namespaces.md"
    audit = ("audit", protocol, namespaces, "--against", one_host)
    run(bed, False, *audit, "--format", "md", "-o", str(page), "--store", str(store))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("protocol")
    parser.add_argument("servers", nargs="+")
    parser.add_argument("--scale", default="0.034", help="of the published duration")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    if (reason := refusal()) is not None:
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as name, two_hosts(Path(name)) as bed:
        pair(bed, options.protocol, options.servers, options.scale, options.output)


if __name__ == "__main__":
    main()
