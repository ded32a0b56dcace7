"""`Statement`: one conclusion in words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """One conclusion under its heading."""

    topic: str
    text: str
