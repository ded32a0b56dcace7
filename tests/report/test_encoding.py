"""Reports on an output whose encoding lacks some signs."""

import itertools
import re
import subprocess
import sys

import pytest

from deadheat.console import fit
from tests.report.made import MadeRun, made_run


def test_keeps_text_that_fits() -> None:
    assert fit("╭ 1–2 µs 大", "utf-8") == "╭ 1–2 µs 大"
    assert fit("12 µs", "latin-1") == "12 µs"


def test_replaces_signs_that_do_not_fit() -> None:
    assert fit("╭│╰ 1–2 µs … ∞ 大", "ascii") == "/|\\ 1-2 us ... inf \\u5927"


FORMATS = ("terminal", "md", "csv", "json", "--list")
ENCODINGS = ("latin-1", "cp437", "ascii")  # click replaces an output that begins as ASCII
EACH_FORMAT = """
import sys
from deadheat.cli import main

store, formats, encodings = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
for encoding in encodings:
    sys.stdout.reconfigure(encoding=encoding, errors="strict")
    for format_name in formats:
        asked = [format_name] if format_name == "--list" else ["--format", format_name]
        sys.argv = ["deadheat", "report", *asked, "--store", store]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
        sys.stdout.flush()
        sys.stdout.buffer.write(bytes(1))
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> MadeRun:
    run = made_run(tmp_path_factory.mktemp("encoding") / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 9000, "大": 3000}, blocks=4)
    run.end()
    return run


def test_no_output_is_too_poor_for_a_report(stored: MadeRun) -> None:
    shown = subprocess.run(
        [
            *(sys.executable, "-c", EACH_FORMAT, str(stored.store.path)),
            *(" ".join(FORMATS), " ".join(ENCODINGS)),
        ],
        capture_output=True,
        check=True,
    )
    *written, rest = shown.stdout.split(bytes(1))
    assert rest == b""
    cases = itertools.product(ENCODINGS, FORMATS)
    for (encoding, format_name), output in zip(cases, written, strict=True):
        text = output.decode("utf-8" if format_name in ("md", "csv") else encoding)
        assert stored.run_id[-4:] in text, (encoding, format_name)
        if format_name == "terminal":
            assert re.search(r"/ +(alpha|beta)", text)
            assert "\\u5927" in text
