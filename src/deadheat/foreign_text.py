"""Text from others, made safe to show: no escape sequence, no hidden or reordering character.

Servers, manifests and bundles supply text. All of it goes through this module before it reaches a
terminal, a CSV file or a Markdown file. Commands of the user lose their passwords here.
"""

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

# Unicode categories: control, format (direction, zero width), surrogate, private use, line and
# paragraph separator.
HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
KEPT = "\n\t"
LINE_MAX = 300
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")

MASK = "***"
SECRET_BYTES_MIN = 4  # a shorter secret is hidden where it stands, not in other texts
_NAME = (
    r"[\w.-]*(?:passw|passphrase|\bpass\b|_pass\b|pwd|secret|token|credential|authorization|cookie"
    r"|(?:api|access|private)[-_]?key)[\w.-]*"
)
_OPTION = re.compile(rf"(?i)-{_NAME}")
_SECRETS = tuple(
    re.compile(f"(?i){pattern}")
    for pattern in (
        r"\b[a-z][a-z0-9+.-]*://[^\s/@:]*:(?P<secret>[^\s/]+)@",
        rf"{_NAME}=[\"']?(?P<secret>[^\s&;\"']+)",
        rf"{_NAME}:\s*(?P<secret>[^\s*].*)",
        rf"-{_NAME}\s+(?P<secret>[^\s-]\S*)",
    )
)


def without_secrets(command: Sequence[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The words of a command with `***` for what looks like a password, and these passwords.

    It looks into URLs, options, variables and headers.
    """
    secrets: set[str] = set()

    def hidden(match: re.Match[str]) -> str:
        secrets.add(match["secret"])
        begin, end = (at - match.start() for at in match.span("secret"))
        return f"{match[0][:begin]}{MASK}{match[0][end:]}"

    shown, before = [], ""
    for word in command:
        if _OPTION.fullmatch(before) and not word.startswith("-"):
            secrets.add(word)
            shown.append(MASK)
        else:
            masked = word
            for pattern in _SECRETS:
                masked = pattern.sub(hidden, masked)
            shown.append(masked)
        before = word
    return tuple(shown), frozenset(secrets - {MASK})


def lacks_a_secret(words: Sequence[str]) -> bool:
    """Whether `***` stands where a password belongs: the words are copied from an output."""
    stand_in = "stands-for-a-password"
    _, secrets = without_secrets([word.replace(MASK, stand_in) for word in words])
    return any(stand_in in secret for secret in secrets)


def masked(text: str, secrets: Iterable[str]) -> str:
    """A log or a message with `***` for each of these passwords."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SECRET_BYTES_MIN:
            text = text.replace(secret, MASK)
    return text


def escaped(text: str, kept: str = "") -> str:
    """The text with each hidden character as Python's escape for it, except those in `kept`."""
    if text.isprintable():
        return text
    return "".join(
        char if char in kept or unicodedata.category(char) not in HIDDEN else repr(char)[1:-1]
        for char in text
    )


def printable(text: str) -> str:
    """The text with its line breaks and tabs, and every other hidden character escaped."""
    return escaped(text, KEPT)


def spreadsheet_cell(text: str) -> str:
    """A text as a cell of CSV: with an apostrophe where a spreadsheet would read a formula."""
    shown = printable(text)
    return f"'{shown}" if shown.lstrip(" \n").startswith(FORMULA_SIGNS) else shown


def one_line(text: str, longest: int = LINE_MAX) -> str:
    """The text on one line, with hidden characters escaped, cut if it is long."""
    words = " ".join(text.split())
    shown = escaped(words[:longest])
    return f"{shown}…" if len(words) > longest else shown


def read_bytes(path: Path, bytes_max: int) -> bytes:
    """The content of a regular file.

    Raises `OSError`, also for another kind of file and for one that is too large.
    """
    _require_regular(path, path.stat())  # opening a device can have an effect
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _require_regular(path, os.fstat(descriptor))
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        reason = f"it is larger than {bytes_max // 1024} KiB"
        raise OSError(errno.EFBIG, reason, str(path))
    return content


def _require_regular(path: Path, state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "expected a regular file", str(path))
