"""A flame graph of one contender: what perf sampled, drawn by inferno."""

import tempfile
from pathlib import Path

from deadheat.errors import DeadheatError
from deadheat.host import HostError, ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.report.findings.analysis import Analysis
from deadheat.report.findings.explanation import contenders_of
from deadheat.report.model.view import RunView

INFERNO = "inferno-flamegraph"
DRAW_S = 60.0


def draw_flame(view: RunView, analysis: Analysis, names: tuple[str, ...] = ()) -> str | None:
    """One SVG without anything from the network; None if perf sampled no such contender.

    Without a name, that of the first contender. Raises `DeadheatError` without inferno.
    """
    sampled = {each.name: each for each in contenders_of(view) if each.stacks}
    chosen = sampled.get(names[0]) if names else next(iter(sampled.values()), None)
    if chosen is None:
        return None
    with tempfile.TemporaryDirectory() as folder, LocalHost() as host:
        path = Path(folder) / "stacks"
        lines = [f"{stack} {samples}\n" for stack, samples in sorted(chosen.stacks.items())]
        path.write_text("".join(lines), encoding="utf-8")
        title = f"{chosen.name}: CPU samples under load, run {view.run_id}"
        command = [INFERNO, "--title", title, "--hash", "--nametype", "Function:", str(path)]
        try:
            drawn = host.run(ProcessSpec(command), DRAW_S)
        except HostError as error:
            raise DeadheatError(
                f"--picture flame: {INFERNO} is missing, which draws it", "cargo install inferno"
            ) from error
    if drawn.exit_code != 0:
        raise DeadheatError(f"--picture flame: {INFERNO} failed: {drawn.stderr.strip()[-200:]}")
    return drawn.stdout
