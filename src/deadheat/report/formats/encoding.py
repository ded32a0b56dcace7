"""Text for an output that cannot show all of it."""

PLAIN = str.maketrans(
    {"╭": "/", "│": "|", "╰": "\\", "─": "-", "–": "-", "…": "...", "µ": "u", "∞": "inf"}
)


def fit(text: str, encoding: str) -> str:
    """The text as it is where `encoding` has all of it; else plain signs, the rest escaped."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text
