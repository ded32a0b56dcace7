#!/usr/bin/env python3
"""Do the install lines work on a Debian 12 that has nothing else? One line for each set of needs.

    sudo .venv/bin/python -m bench.install_lines FOLDER [SERVER]... [--output FILE]

FOLDER gets a Debian root, about 300 MB, and the packages that are downloaded. Servers with the same
install lines share one trial: a fresh copy of the root, `apt-get update`, the lines in the order of
`deadheat list --install`, and the probe of each need. A line that is part of an earlier trial gets
no trial for itself. The file keeps the trials of earlier calls, and a call without SERVER goes on
where the last one stopped.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.clean_root import clean_root, make_base, unavailable, unreachable
from deadheat.catalog import Server, Toolchains, choose, find_root, load_catalog, missing
from deadheat.catalog.toolchain import install_missing
from deadheat.errors import DeadheatError

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description="do the install lines work on a clean Debian 12?")
    parser.add_argument("folder", type=Path)
    parser.add_argument("servers", nargs="*")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results/install-lines.json")
    args = parser.parse_args()
    if reason := unavailable():
        sys.exit(f"no clean root here: {reason}")
    make_base(args.folder.absolute())
    results = json.loads(args.output.read_text()) if args.output.exists() else {}
    servers = choose(load_catalog(find_root(str(ROOT))), args.servers)
    for lines, group in trials(servers):
        name = group[0].name
        if name in results and not args.servers:
            continue
        results[name] = {"servers": [server.name for server in group]}
        results[name] |= try_lines(args.folder.absolute(), group[0], lines)
        print(f"{name}: {results[name]['outcome']}", flush=True)
        text = json.dumps(dict(sorted(results.items())), indent=1)
        args.output.write_text(text + "\n")
    return 0


def trials(servers: Iterable[Server]) -> list[tuple[tuple[str, ...], list[Server]]]:
    """Servers by their install lines, longest first, without those whose lines others have."""
    by_lines: dict[tuple[str, ...], list[Server]] = {}
    for server in servers:
        lines = tuple(dict.fromkeys(need.install for need in server.needs))
        by_lines.setdefault(lines, []).append(server)
    tried: set[str] = set()
    chosen = []
    for lines, group in sorted(by_lines.items(), key=lambda item: -len(item[0])):
        if not set(lines) <= tried:
            chosen.append((lines, group))
            tried |= set(lines)
    return chosen


def try_lines(folder: Path, server: Server, lines: tuple[str, ...]) -> dict[str, Any]:
    """The outcome of the lines of one server on a fresh root: `ready`, or the reason why not."""
    facts: dict[str, Any] = {"lines": list(lines)}
    for line in lines:
        if host := unreachable(line):
            return {**facts, "outcome": f"not tried: {host} cannot be reached from here"}
    begun_s = time.monotonic()
    with clean_root(folder) as root:
        before = len(missing(Toolchains(root).check(server)))
        try:
            install_missing(root, [server])
        except DeadheatError as error:
            reason = str(error).splitlines()
            return {**facts, "outcome": f"fails: {reason[0]}: {reason[-1]}"}
        left = missing(Toolchains(root).check(server))
    facts |= {"missing_before": before, "elapsed_s": round(time.monotonic() - begun_s)}
    faults = "; ".join(probe.fault or "" for probe in left)
    return {**facts, "outcome": f"not ready: {faults}" if left else "ready"}


if __name__ == "__main__":
    sys.exit(main())
