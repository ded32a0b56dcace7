"""What varies from machine to machine or from call to call, and what golden files say instead.

Every rule stands here. A rule keeps the unit and the words around a figure, so that a change of the
sentence still shows.
"""

import math
import platform
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What commands print that do something now: `list`, `verify`, `run`.
OBSERVED = (
    (r"\b\d+\.\d\d s\b", "<n> s"),
    (r", [\d.]+ MiB,", ", <n> MiB,"),
    (r"\b\d+ KiB\b", "<n> KiB"),
    (r"(?<=/builds/)(\w+)/[0-9a-f]{12}\b", r"\1/<key>"),
    (r"\bon 20\d\d-\d\d-\d\d\b", "on <day>"),
    (r'\btime="\d+"', 'time="<n>"'),
    (r"(?m)\bafter (?:\d+ min )?-?\d+(?:\.\d)? m?s(?=$|,)", "after <n> s"),
    (r"\bdeadheat report [0-9a-f]{4}\b", "deadheat report <run>"),
    (r"\bdeadheat resume [0-9a-f]{4}\b", "deadheat resume <run>"),
    (r"\bin \d+ s\b", "in <n> s"),
    (r"(?m)(?:^(?:building|built) [\w, ]+(?:\(\d of \d\)|<n> s)\n)+", "<builds in parallel>\n"),
    (r"\bhead \d+ B\b", "head <n> B"),  # it names the version of Python
    (r"\b20\d{6}-\d{6}-[0-9a-f]{4}\b", "<run>"),
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d UTC\b", "<moment>"),
    (re.escape(platform.python_version()), "<python>"),
)
# Binary floating point: the last digits depend on which BLAS kernel the CPU selects.
FOR_MACHINES = (".json", ".csv", ".svg")
FLOAT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]\d+)?(?![\w.])")
DIGITS = 9
SMALLEST = 1e-12  # anything nearer to zero is zero
SAME = 1e-8  # of a number: a last digit may be rounded up on one CPU and down on another


def scrubbed(text: str, places: Mapping[Path, str], observed: bool = False) -> str:
    """The text with `places` by their names, the longest path first."""
    named = {ROOT: "<repo>", **places}
    for path in sorted(named, key=lambda path: -len(str(path))):
        text = text.replace(str(path), named[path])
    if observed:
        for pattern, replacement in OBSERVED:
            text = re.sub(pattern, replacement, text)
    return text


def rounded(text: str) -> str:
    """Floating-point numbers with at most `DIGITS` significant digits; shorter ones stay."""
    return FLOAT.sub(_rounded, text)


def as_accepted(text: str, accepted: str) -> str:
    """The text with the accepted fractions in the place of those that differ by at most `SAME`."""
    numbers = FLOAT.findall(accepted)
    if len(numbers) != len(FLOAT.findall(text)):
        return text
    each = iter(numbers)
    return FLOAT.sub(lambda number: _nearest(number[0], next(each)), text)


def _nearest(number: str, accepted: str) -> str:
    are_fractions = "." in number and "." in accepted
    is_same = are_fractions and math.isclose(float(number), float(accepted), rel_tol=SAME)
    return accepted if is_same else number


def _rounded(number: re.Match[str]) -> str:
    written, value = number[0], float(number[0])
    if 0 < abs(value) < SMALLEST:
        return "0.0"
    mantissa = written.partition("e")[0].lstrip("-0.")
    if "." not in written or len(mantissa.replace(".", "")) <= DIGITS:
        return written
    return repr(float(f"{value:.{DIGITS}g}"))
