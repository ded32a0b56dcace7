"""HTML up to its legal spellings, by the rules of the engine (`engine/src/workload/html.rs`)."""

import re

_BETWEEN_TAGS = re.compile(r">\s+<")
_REFERENCE = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]{1,9})|#[xX]([0-9a-fA-F]{1,8}));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_ESCAPED = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def canonical(document: str) -> str:
    """The document with one spelling of each escape.

    A reference to `<`, `>` or `&` becomes `&lt;`, `&gt;` or `&amp;`, one to another character
    becomes that character, and white space between two tags goes. A literal `<`, `>` or `&` stays,
    so it never equals an escaped one.
    """
    return _REFERENCE.sub(_spelled, _BETWEEN_TAGS.sub("><", document.strip()))


def _spelled(reference: re.Match[str]) -> str:
    name, decimal, hexadecimal = reference.groups()
    if name is not None:
        character = _NAMED[name]
    else:
        number = int(decimal) if decimal is not None else int(hexadecimal, 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            return reference.group()
        character = chr(number)
    return _ESCAPED.get(character, character)
