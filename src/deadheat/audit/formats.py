"""An audit as Markdown, as plain text and as JSON."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest

from rich.cells import cell_len

from deadheat.audit.audit import Audit
from deadheat.audit.sections import Section, heading, sections, title
from deadheat.report.markdown import code, escape
from deadheat.report.tables import Column

GAP = "  "


def write(audit: Audit, format: str, regenerate: Sequence[str] = ()) -> str:
    """The audit in one of `FORMATS`, ending with a newline.

    `regenerate` are command lines that would make it again; Markdown shows them.
    """
    return _WRITERS[format](audit, regenerate) + "\n"


def _markdown(audit: Audit, regenerate: Sequence[str]) -> str:
    lines = [f"# {escape(title(audit))}", "", *(f"- {escape(line)}" for line in heading(audit))]
    lines += [f"- {code(line)}" for line in (_ran(audit), *regenerate)]
    for section in sections(audit):
        lines += ["", f"## {escape(section.title)}"]
        lines += _listed(section.lines)
        if section.table:
            lines += ["", *_markdown_table(section.table)]
        lines += _listed(section.notes)
    return "\n".join(lines)


def _listed(texts: Sequence[str]) -> list[str]:
    return ["", *(f"- {escape(text)}" for text in texts)] if texts else []


def _markdown_table(columns: Sequence[Column]) -> Iterator[str]:
    headers = [column.header.replace("\n", " ") for column in columns]
    yield "| " + " | ".join(map(escape, headers)) + " |"
    yield "|" + "|".join("---:" if column.right else ":---" for column in columns) + "|"
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield "| " + " | ".join(map(escape, cells)) + " |"


def _text(audit: Audit, _: Sequence[str]) -> str:
    lines = [title(audit), *(f"  {line}" for line in heading(audit)), f"  $ {_ran(audit)}"]
    for section in sections(audit):
        lines += ["", section.title, *(f"- {text}" for text in section.lines)]
        lines += _text_table(section)
        lines += [f"  {text}" for text in section.notes]
    return "\n".join(lines)


def _text_table(section: Section) -> Iterator[str]:
    if not section.table:
        return
    headers = [column.header.split("\n") for column in section.table]
    rows = [
        *zip_longest(*headers, fillvalue=""),
        *zip(*(c.cells for c in section.table), strict=True),
    ]
    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        padded = [
            " " * (width - cell_len(cell)) + cell
            if column.right
            else cell + " " * (width - cell_len(cell))
            for cell, width, column in zip(row, widths, section.table, strict=True)
        ]
        yield GAP.join(padded).rstrip()


def _json(audit: Audit, _: Sequence[str]) -> str:
    case = audit.case
    replay = case.replay
    return json.dumps(
        {
            "schema": "deadheat-audit/1",
            "run": replay.run_id,
            "label": replay.protocol.label,
            "protocol": replay.protocol.model_dump(),
            "command": replay.command,
            "hosts": replay.hosts,
            "figures": case.figures.name,
            "levels": [asdict(level) for level in case.levels],
            "against": audit.against,
            "replays_agree": {
                str(at): asdict(one) if one else None for at, one in audit.replays_agree.items()
            },
            "defects": [asdict(defect) for defect in audit.defects],
            "machine": [asdict(one) for one in audit.watched],
            "missing": dict(replay.missing),
        },
        indent=2,
    )


def _ran(audit: Audit) -> str:
    return shlex.join(audit.case.replay.command)


_WRITERS: Mapping[str, Callable[[Audit, Sequence[str]], str]] = {
    "text": _text,
    "md": _markdown,
    "json": _json,
}
FORMATS = tuple(_WRITERS)
