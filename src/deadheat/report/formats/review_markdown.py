"""The report of `deadheat verify --strict`: Markdown for a comment on a pull request."""

from collections.abc import Sequence

from deadheat.measure.review import Check
from deadheat.report.formats.markdown import escape

MARKS = {True: "✅ pass", False: "❌ FAIL", None: "⚪ not decided"}
READING_MAX = 200  # characters; a comment shows a table of short lines


def review_markdown(
    name: str, version: str | None, machine: str, checks: Sequence[Check], log: str = ""
) -> str:
    """A heading with the verdict, a table with a row per check, and the log if one is given."""
    failed = [check for check in checks if check.passed is False]
    passed = sum(check.passed is True for check in checks)
    verdict = f"{len(failed)} failed" if failed else f"{passed} of {len(checks)} checks passed"
    lines = [
        f"### `deadheat verify --strict {name}`: {verdict}",
        "",
        f"{escape(name)} {escape(version or 'of unknown version')}, on {escape(machine)}",
        "",
        "| check | result | reading |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {escape(check.rule)} | {MARKS[check.passed]} | {escape(_short(check.reading))} |"
        for check in checks
    ]
    if log:
        fenced = log.replace("```", "'''")
        summary = "<summary>the end of its log</summary>"
        lines += ["", f"<details>{summary}", "", "```", fenced, "```", "", "</details>"]
    lines += ["", "A reviewer also reads the application: `docs/rules.md` says what is fair."]
    return "\n".join(lines) + "\n"


def _short(reading: str) -> str:
    line = " ".join(reading.split())
    return line if len(line) <= READING_MAX else f"{line[: READING_MAX - 1]}…"
