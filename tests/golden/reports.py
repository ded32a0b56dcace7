"""Reports of stored runs, in every format that is text."""

from functools import partial
from pathlib import Path

from tests.golden.command_line import CommandLine, Output
from tests.golden.stored import DECAY, REPLAY

KINDS = (
    *("settle", "levels", "invalid", "interrupted", "empty", "capacity", "workloads", "close"),
    *("noisy", "pauses", "explain"),
)


def _report(kind: str, columns: int, line: CommandLine) -> str:
    return line.stdout("report", line.runs[kind], columns=columns)


def _format(kind: str, format_: str, line: CommandLine) -> str:
    return line.stdout("report", line.runs[kind], "--format", format_)


def _picture(kind: str, picture: str, line: CommandLine) -> str:
    return line.stdout("report", line.runs[kind], "--format", "svg", "--picture", picture)


def _bundle(bundle: Path, format_: str, line: CommandLine) -> str:
    return line.stdout("report", "--from", str(bundle), "--format", format_, columns=80)


def _decay_picture(line: CommandLine) -> str:
    return line.stdout("report", "--from", str(DECAY), "--format", "svg", "--picture", "decay")


def _reports() -> dict[str, Output]:
    outputs: dict[str, Output] = {}
    for kind in KINDS:
        for columns in (80, 120):
            outputs[f"report/{kind}-{columns}.txt"] = partial(_report, kind, columns)
        outputs[f"report/{kind}.md"] = partial(_format, kind, "md")
    for kind in ("levels", "invalid", "capacity"):
        outputs[f"report/{kind}.csv"] = partial(_format, kind, "csv")
        outputs[f"report/{kind}.json"] = partial(_format, kind, "json")
    for picture in ("bars", "languages", "latency"):
        outputs[f"report/levels-{picture}.svg"] = partial(_picture, "levels", picture)
    for kind in ("pauses", "explain"):
        outputs[f"report/{kind}.json"] = partial(_format, kind, "json")
    outputs["report/workloads.csv"] = partial(_format, "workloads", "csv")
    outputs["report/workloads-profile.svg"] = partial(_picture, "workloads", "profile")
    outputs["report/decay.svg"] = _decay_picture
    outputs["report/settle-bars.svg"] = partial(_picture, "settle", "bars")
    for name, bundle in (("replay", REPLAY), ("decay", DECAY)):
        outputs[f"report/{name}-80.txt"] = partial(_bundle, bundle, "terminal")
        outputs[f"report/{name}.md"] = partial(_bundle, bundle, "md")
    return outputs


REPORTS = _reports()
