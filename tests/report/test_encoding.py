"""Reports on an output whose encoding lacks some signs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deadheat.report.formats.encoding import fit
from tests.report.made import made_run


def test_keeps_text_that_fits() -> None:
    assert fit("╭ 1–2 µs 大", "utf-8") == "╭ 1–2 µs 大"
    assert fit("12 µs", "latin-1") == "12 µs"


def test_replaces_signs_that_do_not_fit() -> None:
    assert fit("╭│╰ 1–2 µs … ∞ 大", "ascii") == "/|\\ 1-2 us ... inf \\u5927"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
@pytest.mark.parametrize("format", ["terminal", "md", "csv", "json", "--list"])
def test_any_encoding_shows_a_report(tmp_path: Path, encoding: str, format: str) -> None:
    run = made_run(tmp_path / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 9000, "大": 3000}, blocks=4)
    run.end()
    asked = [format] if format == "--list" else ["--format", format]
    program = "from deadheat.cli import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", program, "report", *asked, "--store", str(run.store.path)],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )
    text = shown.stdout.decode("utf-8" if format in ("md", "csv") else encoding)
    assert run.run_id in text
    if format == "terminal":
        assert re.search(r"/ +\|(alpha|beta)", text)
        assert "\\u5927" in text
