"""Heap bytes that a server allocates, from the traces of its runtime's garbage collector.

Go and the JVM write a line for each collection if a variable asks for it, in whole MB. So their
heaps are set to take about 30 MB between two collections. Node.js refuses `--trace-gc` in
NODE_OPTIONS: a module adds up what its `v8.GCProfiler` saw. All of them write to the server's log.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from deadheat.errors import DeadheatError
from deadheat.numbers import MIB

TRACED_LANGUAGES = ("Clojure", "Go", "Java", "Kotlin", "Node.js", "Scala")
READINGS_MIN = 5
ROUNDING_MAX = 0.1  # of what is allocated between two collections
NODE_MODULE = r"""
import v8 from 'node:v8';
import { writeSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
let profiler, allocated = 0, kept = 0;
const begin = () => (profiler = new v8.GCProfiler()).start();
begin();
setInterval(() => {
  for (const { beforeGC, afterGC } of profiler.stop().statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - kept;
    kept = afterGC.heapStatistics.usedHeapSize;
  }
  begin();
  const now = allocated + v8.getHeapStatistics().used_heap_size - kept;
  writeSync(2, `deadheat-heap ${process.pid}.${threadId} ${performance.now()} ${now}\n`);
}, 50).unref();
"""
TRACE_LAG_S = 0.1  # that the module may need to write after a load
TRACES = {
    "GODEBUG": "gctrace=1",
    "JAVA_TOOL_OPTIONS": "-Xlog:gc:stdout:uptime,pid -Xmn32m",
    "NODE_OPTIONS": f"--import=data:text/javascript,{quote(NODE_MODULE, safe='')}",
}
GO_HEAP = {"GOGC": "800"}
# `gc 12 @1.234s 3%: 0.01+0.4+0.003 ms clock, 0.1+0.4/0.4/0+0.03 ms cpu, 32->33->2 MB, 33 MB goal`:
# at the begin and the end of marking, and what is live.
GO = re.compile(r"^gc (\d+) @([\d.]+)s .*? (\d+)->(\d+)->(\d+) MB,", re.M)
JVM = re.compile(r"^\[([\d.,]+)s\]\[(\d+)\] GC\(\d+\) Pause .*?(\d+)M->(\d+)M\(\d+M\)", re.M)
NODE = re.compile(r"^deadheat-heap (\S+) ([\d.]+) (\d+)$", re.M)


@dataclass(frozen=True, slots=True)
class HeapReading:
    """Bytes that a process has allocated so far, by its own clock; only differences count."""

    process: str
    at_s: float
    allocated_bytes: int
    rounding_bytes: int  # of what was allocated since the reading before


def read_traces(log: str) -> list[HeapReading]:
    """The readings of every process whose runtime traced into this log, in its order.

    Raises `DeadheatError` if several Go processes wrote their collections into one log.
    """
    return [*_go(log), *_jvm(log), *_node(log)]


def _go(log: str) -> Iterator[HeapReading]:
    allocated, kept, last = 0, 0, 0
    for number, at_s, begin, end, live in GO.findall(log):
        if last and int(number) != last + 1:
            raise DeadheatError(
                "allocations are left out: its collections do not follow one another in its log, "
                "as if several processes wrote it"
            )
        last = int(number)
        allocated += (int(begin) - kept) * MIB
        kept = int(live) - (int(end) - int(begin))  # what came while it marked counts as live
        yield HeapReading("Go", float(at_s), allocated, MIB)


def _jvm(log: str) -> Iterator[HeapReading]:
    allocated: defaultdict[str, int] = defaultdict(int)
    kept: defaultdict[str, int] = defaultdict(int)
    for at_s, pid, begin, end in JVM.findall(log):
        allocated[pid] += (int(begin) - kept[pid]) * MIB
        kept[pid] = int(end)
        yield HeapReading(f"JVM {pid}", float(at_s.replace(",", ".")), allocated[pid], MIB)


def _node(log: str) -> Iterator[HeapReading]:
    for thread, at_ms, allocated in NODE.findall(log):
        yield HeapReading(f"Node.js {thread}", float(at_ms) / 1000, int(allocated), 0)


def allocated_per_s(before: Sequence[HeapReading], after: Sequence[HeapReading]) -> float | None:
    """Bytes per second of all processes, between the first and the last reading of each.

    Readings that were there before the load do not count. None with fewer than `READINGS_MIN`.
    Raises `DeadheatError` if the traces are too coarse.
    """
    last_s = {reading.process: reading.at_s for reading in before}
    readings: defaultdict[str, list[HeapReading]] = defaultdict(list)
    for reading in after:
        if reading.at_s > last_s.get(reading.process, 0.0):
            readings[reading.process].append(reading)
    if not readings or min(map(len, readings.values())) < READINGS_MIN:
        return None
    per_s = 0.0
    for first, *between, last in readings.values():
        spent = last.allocated_bytes - first.allocated_bytes
        if (len(between) + 1) * last.rounding_bytes > ROUNDING_MAX * spent:
            raise DeadheatError(
                "allocations are left out: it collects too often for a trace in whole MB"
            )
        per_s += spent / (last.at_s - first.at_s)
    return per_s
