"""Inputs as a stranger could hand them in: valid files with hostile edits, and noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

HOSTILE_TEXTS = (
    *("\0", "\\u0000", "\x1b[2J", "\u202e", "\r", '"', "'", '"""', "'''", "\\", "=", "#", "\n"),
    *("9" * 5000, "0x" + "f" * 5000, "1" + "0" * 30, "18446744073709551615", "-1", "0", "1e400"),
    *("inf", "nan", "true", "{}", "[]", "1979-05-27T07:32:00Z", "[" * 3000, "{a=" * 300),
    *('""', '"" = 1\n', "\n[start]\n", "\n[[needs]]\n", "\n[[published]]\n", "\n[settings.x]\n"),
    *("a." * 100, "{build}", "{port}", "{nothing}", "${HOME}", "../../..", "/etc/passwd", "(a+)+$"),
    *("a{99999999999}", "(" * 500, "\u00b2", "\u0665", "\U000e0001", " " * 2000, ",", ";", "|"),
)
HOSTILE = (*(text.encode() for text in HOSTILE_TEXTS), b"\xff", b"\xfe\xff", b"\x80")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `cut` bytes at a share of the file's length."""

    at: float
    cut: int
    insert: bytes


def edits(
    words: Sequence[bytes] = HOSTILE, same_length: bool = False
) -> st.SearchStrategy[list[Edit]]:
    inserts = st.one_of(st.sampled_from(words), st.binary(max_size=8))
    cuts = st.one_of(st.integers(0, 8), st.integers(0, 400))
    edit = st.builds(
        lambda at, cut, insert: Edit(at, len(insert) if same_length else cut, insert),
        at=st.integers(0, 9999).map(lambda place: place / 10_000),
        cut=cuts,
        insert=inserts,
    )
    return st.lists(edit, min_size=1, max_size=4)


def edited(seed: bytes, changes: Sequence[Edit]) -> bytes:
    for change in changes:
        at = int(change.at * len(seed))
        seed = seed[:at] + change.insert + seed[at + change.cut :]
    return seed


def files(*seeds: bytes) -> st.SearchStrategy[bytes]:
    """Edits of valid files, the hostile words in any order, and noise."""
    of_words = st.lists(st.sampled_from(HOSTILE), max_size=6).map(b"".join)
    seed, word = st.sampled_from(seeds), st.sampled_from(HOSTILE)
    of_values = st.builds(_with_value, seed, st.integers(0, 200), word)
    return st.one_of(st.builds(edited, seed, edits()), of_values, of_words, st.binary(max_size=300))


def _with_value(seed: bytes, number: int, value: bytes) -> bytes:
    """A file of `key = value` lines with another value in one of them, bare or as a text."""
    lines = seed.split(b"\n")
    places = [place for place, line in enumerate(lines) if b" = " in line] or [0]
    place = places[number % len(places)]
    quoted = value if number % 2 else b'"' + value.replace(b'"', b"") + b'"'
    lines[place] = lines[place].split(b" = ")[0] + b" = " + quoted
    return b"\n".join(lines)
