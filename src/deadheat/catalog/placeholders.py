"""`{name}` in manifests and recipes: filled where there is a value, a fault where nothing will be.

Only lower-case words count, and not after a `$`: a shell's `${HOME}` and awk's `{print $1}` stay.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

Location = tuple[str | int, ...]

PLACEHOLDERS = ("host", "port", "workers", "threads", "build")
# What is known where: in the needs nothing but the parameters, in a build only where it is.
_KNOWN_IN = {
    "needs": (),
    "build": ("build",),
    "version": ("build",),
    "start": PLACEHOLDERS,
    "settings": PLACEHOLDERS,
    "env": PLACEHOLDERS,
}
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of `{name}`; names without a value stay as they are."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def fill(command: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """`fill_text` for the words of a command."""
    return tuple(fill_text(part, values) for part in command)


def fill_env(env: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """`fill_text` for the values of an environment."""
    return {name: fill_text(text, values) for name, text in env.items()}


def unknown_placeholders(
    document: BaseModel, parameters: Mapping[str, str]
) -> Iterator[tuple[Location, str]]:
    """Where in a manifest or recipe a `{name}` stands that nothing fills, and what is known there.

    Such a name is a typing error, found before anything starts.
    """
    for part, placeholders in _KNOWN_IN.items():
        known = {*placeholders, *parameters}
        value = document.model_dump(include={part}, by_alias=True).get(part)
        for location, text in _texts(value, (part,)):
            for name in _PLACEHOLDER.findall(text):
                if name not in known:
                    listed = ", ".join(f"{{{word}}}" for word in sorted(known)) or "none"
                    yield location, f"unknown placeholder {{{name}}}; known here: {listed}"


def _texts(value: object, location: Location) -> Iterator[tuple[Location, str]]:
    """Every string below a value, with its place; a regular expression is not one to fill."""
    if isinstance(value, str):
        yield location, value
    elif isinstance(value, Mapping):
        for key in value.keys() - {"pattern", "why"}:
            yield from _texts(value[key], (*location, key))
    elif isinstance(value, tuple | list):
        for index, part in enumerate(value):
            yield from _texts(part, (*location, index))
