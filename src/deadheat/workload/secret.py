"""What looks like a secret in a recorded request, and must not get into a file."""

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlencode

REMOVED = "removed"
_NAME = re.compile(
    r"(?i)cookie|auth|token|secret|passw|pwd|api[-_]?key|access[-_]?key|private[-_]?key|session"
    r"|csrf|xsrf|jwt|signature|credential|\bsid\b|\bsig\b|\bkey\b|\bcode\b|\botp\b"
)
# A JSON web token, a bearer or basic credential, a key of a known service, or a long random word.
_VALUE = re.compile(
    r"\beyJ[\w-]{8,}\.|(?i:\b(?:bearer|basic)\s+\S{8,})|\b(?:ghp|gho|ghs|glpat|xox[abps]|sk|pk|AKIA)"
    r"[_-]?[A-Za-z0-9_-]{16,}|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}\b"
)


def is_secret_name(name: str) -> bool:
    """Whether a header, a parameter or a key with this name may hold a secret."""
    return _NAME.search(name) is not None


def is_secret_value(value: str) -> bool:
    """Whether a text has a token in it."""
    return _VALUE.search(value) is not None


def without_secrets(pairs: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """The pairs that hold no secret, and the names of the others."""
    kept = [(n, v) for n, v in pairs if not is_secret_name(n) and not is_secret_value(v)]
    return kept, [name for name, value in pairs if (name, value) not in kept]


def body_without_secrets(body: str, media_type: str) -> tuple[str | None, list[str]]:
    """The body without secrets, and the names of the fields that were changed.

    Values of JSON and fields of a form are replaced or removed. None for a body of another kind
    that looks like it holds a secret.
    """
    if "json" in media_type:
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return (None, []) if _suspicious(body) else (body, [])
        names: list[str] = []
        cleaned = _cleaned(value, names)
        return (json.dumps(cleaned, ensure_ascii=False) if names else body), names
    if "x-www-form-urlencoded" in media_type:
        pairs = parse_qsl(body, keep_blank_values=True)
        kept, names = without_secrets(pairs)
        return (urlencode(kept) if names else body), names
    return (None, []) if _suspicious(body) else (body, [])


def _suspicious(text: str) -> bool:
    return is_secret_name(text) or is_secret_value(text)


def _cleaned(value: Any, names: list[str], name: str = "") -> Any:
    """The value with every secret replaced; notes their names."""
    if isinstance(value, dict):
        cleaned = {}
        for key, inner in value.items():
            if is_secret_name(key) and inner is not None:
                names.append(key)
                cleaned[key] = REMOVED
            else:
                cleaned[key] = _cleaned(inner, names, key)
        return cleaned
    if isinstance(value, list):
        return [_cleaned(inner, names, name) for inner in value]
    if isinstance(value, str) and is_secret_value(value):
        names.append(name or "a text")
        return REMOVED
    return value
