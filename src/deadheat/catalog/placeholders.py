"""Placeholders in manifests and recipes: `{name}` gets its value; an unknown name is a fault.

Only lower-case words count, and not after a `$`, so `${HOME}` and awk's `{print $1}` stay.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

Location = tuple[str | int, ...]

PLACEHOLDERS = ("host", "port", "workers", "threads", "build")
# The placeholders that each table knows, in addition to the recipe's parameters.
_KNOWN_IN = {
    "needs": (),
    "build": ("build",),
    "version": ("build",),
    "runtime": ("build",),
    "start": PLACEHOLDERS,
    "settings": PLACEHOLDERS,
    "env": PLACEHOLDERS,
}
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """Replace each `{name}` with its value. Names without a value stay."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def fill(command: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """`fill_text` for the arguments of a command."""
    return tuple(fill_text(part, values) for part in command)


def fill_env(env: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """`fill_text` for the values of an environment."""
    return {name: fill_text(text, values) for name, text in env.items()}


def unknown_placeholders(
    document: BaseModel, parameters: Mapping[str, str]
) -> Iterator[tuple[Location, str]]:
    """The locations of unknown placeholders in a manifest or recipe, each with a message."""
    for part, placeholders in _KNOWN_IN.items():
        known = {*placeholders, *parameters}
        value = document.model_dump(include={part}, by_alias=True).get(part)
        for location, text in _texts(value, (part,)):
            for name in _PLACEHOLDER.findall(text):
                if name not in known:
                    available = ", ".join(f"{{{word}}}" for word in sorted(known)) or "none"
                    yield location, f"unknown placeholder {{{name}}}; available: {available}"


def _texts(value: object, location: Location) -> Iterator[tuple[Location, str]]:
    """Every string below a value, with its location, except regular expressions and prose."""
    if isinstance(value, str):
        yield location, value
    elif isinstance(value, Mapping):
        for key in value.keys() - {"pattern", "why"}:
            yield from _texts(value[key], (*location, key))
    elif isinstance(value, tuple | list):
        for index, part in enumerate(value):
            yield from _texts(part, (*location, index))
