"""How often does `deadheat regress` give the right verdict on a true slowdown, and on none?

A Node.js and a Go server read the clock in each request. In every 10 ms, the slower commit spins
for a share of them, `--slowdown`, so its rate is lower by that share: FAIL is right. The other
commit only changes a comment: PASS is right. A loop in each request would not do: its cost depends
on how many requests a server handles at once.

    python bench/regressions.py --tries 10 --budget 3m -o docs/results/regressions.json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DEADHEAT = Path(sys.executable).with_name("deadheat")
PERIOD_MS = 10.0

NODE = """\
import http from "node:http";
// commit %(comment)s
let spun = performance.now();
http.createServer((request, response) => {
  const now = performance.now();
  if (now - spun >= %(work_ms)g) {
    while (performance.now() - now < %(spin_ms)g) {}
    spun = performance.now();
  }
  response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": 13 });
  response.end("Hello, World!");
}).listen(Number(process.argv[2]), "127.0.0.1", 4096);
"""
GO = """\
package main

import (
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// commit %(comment)s
var begun = time.Now()
var spun atomic.Int64

func main() {
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		now := time.Since(begun)
		if now-time.Duration(spun.Load()) >= %(work_ms)g*1000*time.Microsecond {
			for time.Since(begun)-now < %(spin_ms)g*1000*time.Microsecond {
			}
			spun.Store(int64(time.Since(begun)))
		}
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "Hello, World!")
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
"""


@dataclass(frozen=True)
class Language:
    """How a server of the bench is written, built and started."""

    file: str
    text: str
    build: str | None
    start: tuple[str, ...]
    environment: dict[str, str]


LANGUAGES = {
    "node": Language("server.mjs", NODE, None, ("node", "server.mjs", "{port}"), {}),
    "go": Language(
        "main.go",
        GO,
        "go mod init spin 2>&1 && go build -o server main.go",
        ("./server", "{port}"),
        {"GOMAXPROCS": "1"},
    ),
}


@dataclass(frozen=True)
class Try:
    """One `regress` and its verdict. `ratio` is the rate of the head over that of the base."""

    language: str
    change: str  # `slower` or `none`
    outcome: str
    ratio: float
    low: float | None
    high: float | None
    elapsed_s: float


class Repository:
    """A git repository with one server."""

    def __init__(self, folder: Path, language: Language) -> None:
        self._folder = folder
        self._language = language
        self._commits = 0
        folder.mkdir()
        self._git("init", "--quiet")

    def commit(self, slowdown: float) -> str:
        """A commit whose server spins for this share of its time; each differs in a comment."""
        self._commits += 1
        spin_ms = slowdown * PERIOD_MS
        values = {"work_ms": PERIOD_MS - spin_ms, "spin_ms": spin_ms, "comment": self._commits}
        text = self._language.text % values
        (self._folder / self._language.file).write_text(text)
        self._git("add", ".")
        self._git("commit", "--quiet", "-m", f"Spin {slowdown:.0%} of the time")
        return self._git("rev-parse", "HEAD").strip()

    def regress(self, base: str, head: str, options: Sequence[str]) -> tuple[dict[str, Any], float]:
        """The first level of the verdict, and the seconds it took."""
        command = [str(DEADHEAT), "regress", "--base", base, "--head", head, "--json", *options]
        if self._language.build:
            command += ["--build", self._language.build]
        begun_s = time.monotonic()
        done = subprocess.run(
            [*command, "--", *self._language.start],
            cwd=self._folder,
            env=os.environ | self._language.environment,
            stdout=subprocess.PIPE,
            check=False,
        )
        level: dict[str, Any] = json.loads(done.stdout)["levels"][0]
        return level, time.monotonic() - begun_s

    def _git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        command = ["git", *identity, *arguments]
        return subprocess.check_output(command, cwd=self._folder, text=True)


def main() -> None:
    options = _options()
    if options.show:
        show(json.loads(options.show.read_text()))
        return
    tries: list[Try] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DEADHEAT_HOME"] = str(Path(folder) / "home")
        for finished in measure(Path(folder), options):
            print(line(asdict(finished)), file=sys.stderr, flush=True)
            tries.append(finished)
            if options.output:  # after each try: what was measured stays if the bench is stopped
                options.output.write_text(json.dumps(summary_of(tries, options), indent=1) + "\n")
    show(summary_of(tries, options))


def summary_of(tries: Sequence[Try], options: argparse.Namespace) -> dict[str, Any]:
    return {
        "command": " ".join(["python", *sys.argv]),
        "budget": options.budget,
        "slowdown": options.slowdown,
        "tries": [asdict(each) for each in tries],
    }


def measure(folder: Path, options: argparse.Namespace) -> Iterator[Try]:
    """Each change of each language in turns."""
    repositories = {
        name: Repository(folder / name, LANGUAGES[name]) for name in options.languages.split(",")
    }
    bases = {name: repository.commit(0) for name, repository in repositories.items()}
    for _ in range(options.tries):
        for name, repository in repositories.items():
            for change, slowdown in (("slower", options.slowdown), ("none", 0.0)):
                head = repository.commit(slowdown)
                yield _try(name, change, repository, bases[name], head, options)


def _try(name: str, change: str, repository: Repository, base: str, head: str, options: Any) -> Try:
    level, elapsed_s = repository.regress(base, head, ["--budget", options.budget])
    if level["ratio"] is None:
        sys.exit(f"regress measured no ratio of the {name} server: {level['why']}")
    return Try(
        name,
        change,
        level["outcome"],
        level["ratio"],
        level["low"],
        level["high"],
        round(elapsed_s, 1),
    )


def line(entry: dict[str, Any]) -> str:
    low, high = (
        "unknown" if value is None else f"{value:.3f}" for value in (entry["low"], entry["high"])
    )
    return (
        f"{entry['language']:5} {entry['change']:6} "
        f"{entry['outcome']:12} {entry['ratio']:.3f} [{low}, {high}]  {entry['elapsed_s']:.0f} s"
    )


def show(summary: dict[str, Any]) -> None:
    right = {"slower": "FAIL", "none": "PASS"}
    for language in sorted({entry["language"] for entry in summary["tries"]}):
        for change, outcome in right.items():
            entries = [
                entry
                for entry in summary["tries"]
                if entry["language"] == language and entry["change"] == change
            ]
            count = sum(entry["outcome"] == outcome for entry in entries)
            wrong = {"PASS": "FAIL", "FAIL": "PASS"}[outcome]
            false = sum(entry["outcome"] == wrong for entry in entries)
            ratio = statistics.median(entry["ratio"] for entry in entries)
            elapsed_s = [entry["elapsed_s"] for entry in entries]
            print(
                f"{language:5} {change:7} {outcome} in {count} of {len(entries)}, {wrong} in "
                f"{false}; median ratio {ratio:.3f}; {statistics.median(elapsed_s):.0f} s "
                f"(at most {max(elapsed_s):.0f} s)"
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=10, help="of each change")
    parser.add_argument("--budget", default="3m", help="of each regress")
    parser.add_argument("--slowdown", type=float, default=0.05, help="of the rate: 0.05 is 5 %%")
    parser.add_argument("--languages", default="node,go", help="servers to try")
    parser.add_argument("--show", type=Path, help="print a stored summary instead")
    parser.add_argument("-o", "--output", type=Path, help="write the summary as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
