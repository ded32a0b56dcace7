"""The results of `deadheat verify`: a line for each contender, and a count of each state."""

from collections import Counter
from collections.abc import Sequence

from deadheat import numbers
from deadheat.measure.inspection import Inspection


def line(inspection: Inspection) -> str:
    """One contender on one line."""
    if inspection.fault is not None or inspection.behavior is None:
        state = "lack" if inspection.lacks else "FAIL"
        install = f" ({' && '.join(inspection.lacks)})" if inspection.lacks else ""
        first = f"{state} {inspection.name}: {inspection.fault}{install}"
        return "\n  | ".join([first, *inspection.words.splitlines()])
    behavior = inspection.behavior
    traits = [
        f"ready {inspection.ready_s:.2f} s",
        f"{numbers.mebibytes(inspection.idle_memory_bytes)} MiB",
        behavior["framing"],
        f"head {behavior['head_bytes']} B",
        "keep-alive" if behavior["keep_alive"] else "closes each connection",
        "close honored" if behavior["close_honored"] else "ignores Connection: close",
        f"HTTP/1.0 {behavior['http_1_0'] or 'unanswered'}",
        f"HEAD {behavior['head'] or 'unanswered'}",
        f"{behavior['pipelined'] or 0} of 2 pipelined",
        f"unknown path {behavior['unknown_path'] or 'unanswered'}",
        *([f"workloads {', '.join(inspection.workloads)}"] if inspection.workloads else []),
        *([f"served {served(inspection)}"] if inspection.served else []),
        *([f"unchanged after {inspection.frozen_s:g} s frozen"] if inspection.frozen_s else []),
        inspection.stop or "",
        *inspection.cautions,
    ]
    state = "note" if inspection.cautions else "ok  "
    return f"{state} {inspection.name} {inspection.version or ''}: {', '.join(traits)}"


def summary(inspections: Sequence[Inspection]) -> str:
    """How many contenders are in each state, in the words with which their lines begin."""
    counts = Counter(inspection.state for inspection in inspections)
    words = {
        "works": "ok",
        "works, with a note": "note (works, with a shortfall)",
        "fails": "FAIL",
        "missing here": "lack (a tool or registry is missing here)",
    }
    parts = (f"{counts[state]} {word}" for state, word in words.items() if counts[state])
    return ", ".join(parts)


def served(inspection: Inspection) -> str:
    """How many of the connections got an answer at each level; a range if loads differ."""
    counts = []
    for level, least in inspection.served.items():
        most = inspection.served_most.get(level, least)
        counts.append(f"{least:,}" if most == least else f"{least:,}–{most:,}")
    return ", ".join(counts) or numbers.NONE
