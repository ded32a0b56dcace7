"""Fit a text into an output's encoding."""

PLAIN = str.maketrans(
    {"╭": "/", "│": "|", "╰": "\\", "─": "-", "–": "-", "…": "...", "µ": "u", "∞": "inf"}
    | {"█": "#", "▒": ":", "░": ".", "├": "|", "┤": "|"}
)


def fit(text: str, encoding: str) -> str:
    """The same text if `encoding` has all its characters; else with plain signs, or escaped."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text
