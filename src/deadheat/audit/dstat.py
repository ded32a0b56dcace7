"""CPU use per core and memory for each second, as dstat printed them for the published runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat.host.cpu_time import TICK_S
from deadheat.store import Store
from deadheat.store.reading import trial_series

STEP_S = 1.0
IDLE, IOWAIT = 3, 4  # of a CPU's counters, see `Sample.cpu_ticks`


@dataclass(frozen=True, slots=True)
class Second:
    """The machine over one step. `busy` maps a CPU to its share in use, 0 to 1."""

    at_s: float  # since the first sample
    busy: Mapping[int, float]
    memory_bytes: int | None  # of the server
    memory_available_bytes: int


def seconds_of(store: Store, trial_id: int) -> tuple[Second, ...]:
    """The seconds of a stored trial; none if it has no samples."""
    return fold(trial_series(store, trial_id, "machine"))


def fold(samples: Sequence[Mapping[str, Any]]) -> tuple[Second, ...]:
    """Stored samples as steps of about a second; the last step may be shorter."""
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
    return {cpu: sum(each.busy.get(cpu, 0.0) for each in seconds) / len(seconds) for cpu in cpus}


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
