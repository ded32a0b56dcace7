"""Texts with placeholders, by the rules of the load engine (`engine/src/workload/text.rs`)."""

import re
import zlib
from collections.abc import Mapping

# A brace that does not begin `{name}` is a part of the text, so JSON needs no escapes.
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_.]*)\}")
BODY_PROPERTIES = ("body.length", "body.crc32")


def variables_in(text: str) -> list[str]:
    """The names in a text, in order."""
    return _PLACEHOLDER.findall(text)


def fill(text: str, values: Mapping[str, str], body: bytes = b"") -> str:
    """The text with these values; `body` is the request's.

    `{body.length}` is its number of bytes, `{body.crc32}` its CRC-32 as eight hexadecimal digits.
    """
    of_body = {"body.length": str(len(body)), "body.crc32": f"{zlib.crc32(body):08x}"}
    known = {**values, **of_body}
    return _PLACEHOLDER.sub(lambda match: known[match.group(1)], text)
