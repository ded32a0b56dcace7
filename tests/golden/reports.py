"""Reports of stored runs, in every format that is text."""

from pathlib import Path

from tests.golden.command_line import Output
from tests.golden.stored import DECAY, REPLAY

KINDS = (
    *("settle", "levels", "invalid", "interrupted", "empty", "capacity", "workloads", "close"),
    *("noisy", "pauses", "explain"),
)
IN_FORMATS = {
    "csv": ("levels", "invalid", "capacity", "workloads"),
    "json": ("levels", "invalid", "capacity", "pauses", "explain"),
}
SVG = ("--format", "svg", "--picture")
PICTURES = (
    *(("levels", "bars"), ("levels", "languages"), ("levels", "latency")),
    *(("workloads", "profile"), ("settle", "bars")),
)


def _of(kind: str, *options: str, columns: int = 120) -> Output:
    """A stored run in a format, or as a picture."""
    return lambda line: line.stdout("report", line.runs[kind], *options, columns=columns)


def _of_bundle(bundle: Path, *options: str) -> Output:
    return lambda line: line.stdout("report", "--from", str(bundle), *options, columns=80)


def _reports() -> dict[str, Output]:
    outputs: dict[str, Output] = {}
    for kind in KINDS:
        for columns in (80, 120):
            outputs[f"report/{kind}-{columns}.txt"] = _of(kind, columns=columns)
        outputs[f"report/{kind}.md"] = _of(kind, "--format", "md")
    for format_, kinds in IN_FORMATS.items():
        for kind in kinds:
            outputs[f"report/{kind}.{format_}"] = _of(kind, "--format", format_)
    for kind, picture in PICTURES:
        outputs[f"report/{kind}-{picture}.svg"] = _of(kind, *SVG, picture)
    outputs["report/decay.svg"] = _of_bundle(DECAY, *SVG, "decay")
    for name, bundle in (("replay", REPLAY), ("decay", DECAY)):
        outputs[f"report/{name}-80.txt"] = _of_bundle(bundle)
        outputs[f"report/{name}.md"] = _of_bundle(bundle, "--format", "md")
    return outputs


REPORTS = _reports()
