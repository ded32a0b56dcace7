"""Does a race measure what is true by construction: waits, pauses, slowdowns?

The servers are of bench/truth_server.c: each request takes a fixed time, a wait or the processor's,
and the whole server may pause, after so many requests or after so much time of the clock. Each case
is a race of such servers. It prints whether the true ratio of each pair lies inside its interval,
and the bias of the ratios to the first server over all races of the case. Waits have overheads that
depend on the machine, so their truth is a load of `--alone` seconds of each, without slices.

    python -m bench.truth --races 2 --budget 90s -o docs/results/truth.json [CASE ...]
    python -m bench.truth --again STORES -o docs/results/truth.json   # with statistics of today
    python -m bench.truth --show docs/results/truth.json
"""

import argparse
import itertools
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.copied_field import DEADHEAT, NOTHING_VALID, ROOT, report_of

SOURCE = ROOT / "bench" / "truth_server.c"
SERVICE_US = 68.0
CONNECTIONS = 100
PAUSED_SHARE = 0.2  # of the time of a server that pauses
PAUSES_MS = (5, 20, 50, 200, 1000)
WAITS_MS = (10.5, 15, 19, 21, 26)
LONG_WAIT_MS = 400
SLOWDOWNS = (0, 2, 5)
MANIFEST = """\
name = "{name}"
language = "C"
framework = "{name}"
kind = "server"
homepage = "https://docs.kernel.org/"

[version]
command = ["cc", "--version"]

[start]
command = [{command}]
worker = "none"
ready_s = 10
stop_s = 3
keep_alive = true
connection_close = "ignores"
backlog = 4096
"""


@dataclass(frozen=True)
class Made:
    """A server: its name, the options of its program, and its true rate; None: measured alone."""

    name: str
    options: tuple[str, ...]
    rate_per_s: float | None


@dataclass(frozen=True)
class PairOutcome:
    """One pair of one race: the rate of `a` over that of `b`."""

    case: str
    race: int
    a: str
    b: str
    true_ratio: float
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str | None

    @property
    def inside(self) -> bool | None:
        """None without an interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.true_ratio <= self.high


def cases() -> dict[str, list[Made]]:
    """The servers of each race; the first one is what the others are compared with."""
    steady = _busy("steady", SERVICE_US)
    return {
        "waits": [_waiting(ms) for ms in WAITS_MS],
        "a long wait": [_waiting(WAITS_MS[0]), _waiting(LONG_WAIT_MS)],
        "pauses by work": [steady, *(_pausing(ms, by_work=True) for ms in PAUSES_MS)],
        "pauses by the clock": [steady, *(_pausing(ms, by_work=False) for ms in PAUSES_MS)],
        "slowdowns": [
            _busy(f"slower-{percent}{copy}", SERVICE_US * (1 + percent / 100))
            for percent in SLOWDOWNS
            for copy in ("", "-copy")
        ],
    }


def _waiting(ms: float) -> Made:
    return Made(f"wait-{ms:g}".replace(".", "-"), ("--wait-ms", f"{ms:g}"), None)


def _busy(name: str, service_us: float) -> Made:
    return Made(name, ("--service-us", f"{service_us:.3f}"), 1e6 / service_us)


def _pausing(ms: float, *, by_work: bool) -> Made:
    run_ms = ms * (1 - PAUSED_SHARE) / PAUSED_SHARE
    requests = round(run_ms * 1000 / SERVICE_US)
    every = ("--every-requests", str(requests)) if by_work else ("--every-ms", f"{run_ms:g}")
    whole_us = SERVICE_US + 1000 * ms / requests if by_work else SERVICE_US / (1 - PAUSED_SHARE)
    options = ("--service-us", f"{SERVICE_US:g}", "--pause-ms", f"{ms:g}", *every)
    return Made(f"pauses-{ms:g}", options, 1e6 / whole_us)


def catalog_of(folder: Path, servers: Sequence[Made], program: Path) -> Path:
    """A catalog of these servers."""
    catalog = folder / "catalog"
    shutil.rmtree(catalog, ignore_errors=True)
    shutil.copytree(ROOT / "protocols", catalog / "protocols")
    (catalog / "recipes").mkdir()
    for made in servers:
        server = catalog / "servers" / made.name
        server.mkdir(parents=True)
        words = [str(program), "{host}", "{port}", *made.options]
        command = ", ".join(json.dumps(word) for word in words)
        (server / "server.toml").write_text(MANIFEST.format(name=made.name, command=command))
    return catalog


def alone_per_s(program: Path, made: Made, seconds: float) -> float:
    """Connections over the mean cycle of one load without slices."""
    port = "18975"
    server = subprocess.Popen(["taskset", "-c", "0", program, "127.0.0.1", port, *made.options])
    try:
        time.sleep(0.3)
        load = ["taskset", "-c", "1", str(DEADHEAT.with_name("deadheat-load"))]
        load += [f"http://127.0.0.1:{port}/", "-c", str(CONNECTIONS), "--slices"]
        line = json.dumps({"id": 1, "duration_s": seconds, "discard_s": 1.0})
        done = subprocess.run(load, input=line, capture_output=True, text=True, check=True)
        document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return float(document["rate_per_s"])
    finally:
        server.kill()
        server.wait()


def race(catalog: Path, store: Path, names: Sequence[str], budget: str) -> dict[str, Any]:
    """The JSON report of one race."""
    command = [str(DEADHEAT), "run", *names, "--connections", str(CONNECTIONS)]
    command += ["--budget", budget, "--catalog", str(catalog), "--store", str(store)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if ended.returncode not in NOTHING_VALID:
        ended.check_returncode()
    return report_of(store)


def outcomes(
    case: str, number: int, document: dict[str, Any], rates: dict[str, float]
) -> Iterator[PairOutcome]:
    """Every pair of servers, also those that the race did not rank."""
    by_pair = {
        frozenset((pair["faster"], pair["slower"])): pair for pair in document["levels"][0]["pairs"]
    }
    for a, b in itertools.combinations(rates, 2):
        pair = by_pair.get(frozenset((a, b)))
        values: tuple[float | None, float | None, float | None] = (None, None, None)
        if pair is not None:
            ratio = pair["ratio"]
            values = (ratio["ratio"], ratio["low"], ratio["high"])
            if pair["faster"] != a:
                values = (_inverse(values[0]), _inverse(values[2]), _inverse(values[1]))
        yield PairOutcome(
            case, number, a, b, rates[a] / rates[b], *values, pair["verdict"] if pair else None
        )


def again(document: dict[str, Any], stores: Path) -> dict[str, Any]:
    """The stored outcomes, computed anew from the stores that `--keep` copied to a folder."""
    stored = [PairOutcome(**values) for values in document["pairs"]]
    pairs: list[PairOutcome] = []
    for case, number in dict.fromkeys((pair.case, pair.race) for pair in stored):
        own = [pair for pair in stored if (pair.case, pair.race) == (case, number)]
        first = own[0].a
        rates = {first: 1.0} | {p.b: 1 / p.true_ratio for p in own if p.a == first}
        store = stores / f"{case.replace(' ', '-')}-{number}.sqlite"
        pairs += outcomes(case, number, report_of(store), rates)
    return document | {"statistics": _version(), "pairs": [asdict(pair) for pair in pairs]}


def _inverse(value: float | None) -> float | None:
    if value is None:
        return None
    return 1 / value if value else math.inf


def show(document: dict[str, Any]) -> bool:
    """Print the stored outcomes; true if they are as they should be."""
    pairs = [PairOutcome(**values) for values in document["pairs"]]
    print(f"{document['command']}, {document['version']}, {document['date']}")
    if "statistics" in document:
        print(f"computed anew with the statistics of {document['statistics']}")
    fine = True
    for case in dict.fromkeys(pair.case for pair in pairs):
        own = [pair for pair in pairs if pair.case == case]
        known = [pair for pair in own if pair.inside is not None]
        right = sum(bool(pair.inside) for pair in known)
        false = [p for p in known if p.verdict == "equivalent" and not _is_near(p.true_ratio)]
        print(f"\n{case}: {right} of {len(known)} intervals have the true ratio inside", end="")
        print(f"; {len(own) - len(known)} pairs without an interval", end="")
        print(f"; {len(false)} falsely equivalent")
        fine &= bool(known) and right >= 0.95 * len(known) and not false
        first = own[0].a
        print(f"{'server':14} {'true ratio':>10} {'bias':>8}   to {first}, mean of the races")
        for name in dict.fromkeys(pair.b for pair in own if pair.a == first):
            of_name = [p for p in own if (p.a, p.b) == (first, name) and p.ratio is not None]
            if not of_name:
                print(f"{name:14} {'not ranked':>10}")
                fine = False
                continue
            bias = statistics.fmean(math.log((p.ratio or 0) / p.true_ratio) for p in of_name)
            print(f"{name:14} {of_name[0].true_ratio:10.4f} {100 * bias:+7.2f} %", end="   ")
            print("  ".join(f"{p.ratio:.3f} [{p.low:.3f}, {p.high:.3f}]" for p in of_name))
            fine &= abs(bias) <= 0.02
    return fine


def _version() -> str:
    describe = ["git", "describe", "--always", "--dirty"]
    return subprocess.check_output(describe, cwd=ROOT, text=True).strip()


def _is_near(ratio: float, margin: float = 0.03) -> bool:
    return 1 / (1 + margin) <= ratio <= 1 + margin


def main() -> None:
    options = _options()
    if options.show:
        show(json.loads(options.show.read_text()))
        return
    if options.again:
        document = again(json.loads(options.output.read_text()), options.again)
        options.output.write_text(json.dumps(document, indent=1) + "\n")
        show(document)
        return
    pairs: list[PairOutcome] = []
    with tempfile.TemporaryDirectory(prefix="deadheat-truth-") as made_in:
        folder = Path(made_in)
        program = folder / "truth_server"
        subprocess.run(["cc", "-O2", "-o", str(program), str(SOURCE)], check=True)
        for case, servers in cases().items():
            if options.cases and case not in options.cases:
                continue
            catalog = catalog_of(folder, servers, program)
            for number in range(1, options.races + 1):
                rates = {
                    made.name: made.rate_per_s or alone_per_s(program, made, options.alone)
                    for made in servers
                }
                store = folder / f"{case.replace(' ', '-')}-{number}.sqlite"
                document = race(catalog, store, list(rates), options.budget)
                pairs += outcomes(case, number, document, rates)
                print(f"{case}, race {number}: done", file=sys.stderr)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    shutil.copy(store, options.keep / store.name)
    document = {
        "command": " ".join(["python -m bench.truth", *sys.argv[1:]]),
        "version": _version(),
        "date": time.strftime("%Y-%m-%d"),
        "pairs": [asdict(pair) for pair in pairs],
    }
    if options.output:
        options.output.write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(0 if show(document) else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(cases())}; all without any")
    parser.add_argument("--races", type=int, default=2, help="races of each case")
    parser.add_argument("--budget", default="90s", help="of each race")
    parser.add_argument("--alone", type=float, default=5.0, help="seconds of a load without slices")
    parser.add_argument("--keep", type=Path, help="folder that the stores are copied to")
    parser.add_argument("--again", type=Path, help="folder of stores; computes FILE of -o anew")
    parser.add_argument("-o", "--output", type=Path, help="file for the outcomes, as JSON")
    parser.add_argument("--show", type=Path, help="print a stored file instead of racing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
