"""What dstat showed of the published runs: CPU use per core and memory, second by second."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat.host.cpu_time import TICK_S
from deadheat.store import Store

STEP_S = 1.0
IDLE, IOWAIT = 3, 4  # of a CPU's counters, see `Sample.cpu_ticks`


@dataclass(frozen=True, slots=True)
class Second:
    """The machine over one step. `busy` maps a CPU to its share in use; memory is the server's."""

    at_s: float  # since the first sample
    busy: Mapping[int, float]
    memory_bytes: int | None
    memory_available_bytes: int


def seconds_of(store: Store, trial_id: int) -> tuple[Second, ...]:
    """A stored trial's seconds; none where nothing was sampled."""
    rows = store.rows("SELECT rows FROM series WHERE trial_id = ? AND name = 'machine'", trial_id)
    return fold(json.loads(zlib.decompress(rows[0]["rows"]))) if rows else ()


def fold(samples: Sequence[Mapping[str, Any]]) -> tuple[Second, ...]:
    """Samples, as stored, folded to steps of about a second; the last step may be shorter."""
    seconds = []
    before = samples[0] if samples else {}
    for sample in samples[1:]:
        last = sample is samples[-1]
        if sample["at_s"] - before["at_s"] < STEP_S - 0.01 and not last:
            continue
        if sample["at_s"] > before["at_s"]:
            seconds.append(_second(samples[0]["at_s"], before, sample))
        before = sample
    return tuple(seconds)


def mean_busy(seconds: Sequence[Second]) -> dict[int, float]:
    """The mean share in use of each CPU, over steps of any length."""
    cpus = sorted({cpu for second in seconds for cpu in second.busy})
    return {cpu: sum(s.busy.get(cpu, 0.0) for s in seconds) / len(seconds) for cpu in cpus}


def _second(begun_s: float, first: Mapping[str, Any], last: Mapping[str, Any]) -> Second:
    elapsed_s = last["at_s"] - first["at_s"]
    busy = {}
    for cpu, ticks in last["cpu_ticks"].items():
        if cpu in first["cpu_ticks"]:
            spent = [now - then for now, then in zip(ticks, first["cpu_ticks"][cpu], strict=True)]
            in_use_s = (sum(spent) - spent[IDLE] - spent[IOWAIT]) * TICK_S
            busy[int(cpu)] = min(1.0, in_use_s / elapsed_s)
    usages = last["usage"].values()
    return Second(
        at_s=last["at_s"] - begun_s,
        busy=busy,
        memory_bytes=sum(usage["memory_bytes"] for usage in usages) if usages else None,
        memory_available_bytes=last["memory_available_bytes"],
    )
