"""Races servers for hours beside an open page, and shows whether memory and descriptors grow.

    python -m bench.long_run [--hours 2] [-o docs/results/long-run.json] [SERVER ...]
    python -m bench.long_run --show FILE

`deadheat run` races the servers (default: 20 of those that are ready here, of many languages) by a
protocol that never settles, into a separate store. Meanwhile, the script fetches the page and the
document of the race from `deadheat serve` every few seconds, and follows its events. Every ten
seconds, it reads the memory, the descriptors and the threads of these processes: the command (cli),
its agent, its load processes (load, the mean over them) and `serve`. The first ten minutes do not
count. The script exits with 1 if a process breaks the rule, if a page could not be fetched, or if
the race ended early. A race normally ends after ten invalid trials in a row. This one goes on, so
that a busy machine does not end it: memory does not depend on whether a trial counts.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from bench.faulted.processes import parts
from bench.growth import RULE, counts_are_flat, growth
from bench.never_settling import catalog_servers, never_settling
from bench.page_reader import PageReader
from bench.process_use import FIGURES, Sample, sample
from bench.served import Served
from deadheat.store import Store
from deadheat.store.listing import run_ids, run_progress

MIB = 1 << 20
ON_A_BUSY_MACHINE = """\
from deadheat.campaign.failures import InvalidStreak
from deadheat.cli import main
InvalidStreak.note = lambda *_: None
main()
"""
RACE = (sys.executable, "-c", ON_A_BUSY_MACHINE)
SERVERS = 20
PARTS = {"agent": "agent", "engine": "load"}  # of `bench.faulted.processes`
FIRST_TRIAL_S = 3600.0  # builds come first
END_S = 300.0  # after the budget: the last block, stops and the report
OUTPUT = "run.txt"  # what the race prints
SAMPLES_KEPT = 240  # of each process


def main() -> int:
    options = _options()
    if options.show:
        outcome = json.loads(options.show.read_text())
    else:
        with tempfile.TemporaryDirectory(prefix="deadheat-long-") as folder:
            outcome = measure(Path(folder), options)
        if options.output:
            options.output.write_text(json.dumps(outcome) + "\n")
    print(shown(outcome))
    return 0 if outcome["pass"] else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("servers", nargs="*", metavar="SERVER")
    parser.add_argument("--hours", type=float, default=2.0, help="of racing (default 2)")
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between samples")
    parser.add_argument("--fetch", type=float, default=5.0, help="seconds between fetches")
    parser.add_argument(
        "--skip", type=float, default=10.0, help="minutes at the start that do not count"
    )
    parser.add_argument("--protocol", default="settle", help="that is made never to settle")
    parser.add_argument("-o", "--output", type=Path, help="write the outcome as JSON")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print a stored outcome instead")
    return parser.parse_args()


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The outcome of one long race, whose store is in `folder`."""
    servers = options.servers or catalog_servers(SERVERS)
    protocol = never_settling(folder, options.protocol)
    store = folder / "runs.sqlite"
    command = ["run", *servers, "--protocol", str(protocol), "--store", str(store)]
    command += ["--budget", f"{max(1, round(3600 * options.hours))}s"]
    load = os.getloadavg()[0]
    with (folder / OUTPUT).open("w") as output:
        race = subprocess.Popen(
            [*RACE, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        run_id = first_trial(race, store)
        with Served(store) as served, PageReader(served, run_id, options.fetch) as reader:
            samples, sizes = follow(race, served.pid, store, run_id, options)
        code = race.poll()
    finally:
        end(race)
    skip_s = 60 * options.skip
    processes = {name: judged(own, skip_s) for name, own in samples.items()}
    outcome = {
        "date": date.today().isoformat(),
        "command": shlex.join(["python", "-m", "bench.long_run", *sys.argv[1:]]),
        "servers": servers,
        "hours": options.hours,
        "raced_h": round(sizes[-1][0] / 3600, 3),
        "skip_min": options.skip,
        "load_before": round(load, 1),
        "cpus": os.cpu_count(),
        "rule": RULE,
        "exit_code": code,
        "processes": processes,
        "store": stored(sizes),
        "pages": reader.to_json(),
    }
    raced_whole = outcome["raced_h"] >= 0.95 * options.hours and code in (0, 4)
    if not raced_whole:
        outcome["output"] = (folder / OUTPUT).read_text()[-2000:]
    known = {"cli", "agent", "load", "serve"} == {*processes}
    passes = known and all(each["pass"] for each in processes.values()) and not reader.faults
    return outcome | {"pass": bool(raced_whole and passes)}


def first_trial(race: "subprocess.Popen[bytes]", store_path: Path) -> str:
    """Wait for the race's first stored trial; the id of its run."""
    deadline_s = time.monotonic() + FIRST_TRIAL_S
    while time.monotonic() < deadline_s and race.poll() is None:
        if store_path.exists():
            with Store(store_path, read_only=True) as store:
                ids = run_ids(store)
                if ids and run_progress(store, ids[0]).trials:
                    return ids[0]
        time.sleep(0.1)
    printed = (store_path.parent / OUTPUT).read_text()[-2000:]
    raise SystemExit(f"the race has no trial: it ended with {race.poll()}\n{printed}")


def follow(
    race: "subprocess.Popen[bytes]",
    serve: int,
    store: Path,
    run_id: str,
    options: argparse.Namespace,
) -> tuple[dict[str, list[Sample]], list[tuple[float, int, int]]]:
    """Samples by process, and the store's times, bytes and trials, until the race is over."""
    samples: dict[str, list[Sample]] = {}
    sizes = [(0.0, *_size(store, run_id))]
    begun_s = time.monotonic()
    budget_s = 3600 * options.hours
    while race.poll() is None and (at_s := time.monotonic() - begun_s) < budget_s + END_S:
        by_part = parts(race.pid)
        pids = {"cli": [race.pid], **{new: by_part[old] for old, new in PARTS.items()}}
        for name, own in {**pids, "serve": [serve]}.items():
            if at_s <= budget_s and (taken := sample(own, at_s)) is not None:
                samples.setdefault(name, []).append(taken)
        sizes.append((at_s, *_size(store, run_id)))
        _wait(race, options.interval)
    return samples, sizes


def _wait(race: "subprocess.Popen[bytes]", seconds: float) -> None:
    try:
        race.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _size(path: Path, run_id: str) -> tuple[int, int]:
    """Bytes of the store with what waits to be merged into it, and the trials of the run."""
    size_bytes = sum(
        part.stat().st_size for part in (path, path.with_name(f"{path.name}-wal")) if part.exists()
    )
    with Store(path, read_only=True) as store:
        return size_bytes, run_progress(store, run_id).trials


def end(race: "subprocess.Popen[bytes]") -> None:
    """Interrupt the race as Ctrl-C does, and kill it if it does not end."""
    if race.poll() is None:
        race.send_signal(signal.SIGINT)
        try:
            race.wait(60)
        except subprocess.TimeoutExpired:
            race.kill()
            race.wait()


def judged(samples: Sequence[Sample], skip_s: float) -> dict[str, Any]:
    """Growth of one process after the first minutes, whether it passes, and thinned samples."""
    late = [each for each in samples if each.at_s >= skip_s] or samples[-1:]
    at_s = [each.at_s for each in late]
    columns = {name: [getattr(each.mean, name) for each in late] for name in FIGURES}
    grown = {name: growth(at_s, values) for name, values in columns.items()}
    flat = grown["rss_bytes"].is_flat and all(
        counts_are_flat(columns[name]) for name in ("descriptors", "threads")
    )
    step = max(1, -(-len(samples) // SAMPLES_KEPT))
    return {
        "pass": flat,
        **{name: asdict(each) for name, each in grown.items()},
        "columns": ["at_s", *FIGURES, "processes"],
        "samples": [each.to_json() for each in samples[::step]],
    }


def stored(sizes: Sequence[tuple[float, int, int]]) -> dict[str, Any]:
    (_, first_bytes, first_trials), (_, last_bytes, last_trials) = sizes[0], sizes[-1]
    trials = last_trials - first_trials
    return {
        "bytes": last_bytes,
        "trials": last_trials,
        "bytes_per_trial": round((last_bytes - first_bytes) / trials) if trials else None,
    }


def shown(outcome: Mapping[str, Any]) -> str:
    """The outcome as text."""
    store, pages = outcome["store"], outcome["pages"]
    lines = [
        f"{outcome['command']}  ({outcome['date']}, load before: {outcome['load_before']})",
        f"{len(outcome['servers'])} servers, raced {outcome['raced_h']:g} of "
        f"{outcome['hours']:g} h, exit code {outcome['exit_code']}; "
        f"the first {outcome['skip_min']:g} min do not count",
        outcome["rule"],
        "",
        f"{'':<8}{'RSS MiB':>9}{'MiB an hour':>30}{'share':>9}"
        f"{'descriptors':>18}{'threads':>14}{'':>6}",
    ]
    lines += [_row(name, each) for name, each in outcome["processes"].items()]
    per_trial = store["bytes_per_trial"]
    lines += [
        "",
        f"store: {store['bytes'] / MIB:,.1f} MiB, {store['trials']:,} trials"
        + (f", {per_trial:,} bytes a trial" if per_trial is not None else ""),
        f"pages: {pages['fetched']:,} fetched, {pages['events']:,} events, "
        f"{len(pages['faults'])} faults",
        *map(str, pages["faults"][:3]),
        *([outcome["output"]] if "output" in outcome else []),
        "PASS" if outcome["pass"] else "FAIL",
    ]
    return "\n".join(lines)


def _row(name: str, process: Mapping[str, Any]) -> str:
    rss = process["rss_bytes"]
    slope = share = "unknown"
    if rss["per_h"] is not None:
        low, middle, high = (rss[key] / MIB for key in ("low_per_h", "per_h", "high_per_h"))
        slope = f"{middle:+.2f} [{low:+.2f}, {high:+.2f}]"
        share = f"{100 * rss['per_h'] / rss['median']:+.1f} %"
    counts = [
        f"{each['first']:g}, {each['last']:g}, {each['highest']:g}"
        for each in (process["descriptors"], process["threads"])
    ]
    return (
        f"{name:<8}{rss['median'] / MIB:>9.1f}{slope:>30}{share:>9}"
        f"{counts[0]:>18}{counts[1]:>14}  {'PASS' if process['pass'] else 'FAIL'}"
    )


if __name__ == "__main__":
    sys.exit(main())
