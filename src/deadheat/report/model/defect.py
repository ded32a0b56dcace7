"""`Defect`: a way in which the figures of a comparison mislead."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """A way in which published or replayed figures mislead.

    `found` is the evidence, `changes` the effect. `rows` is empty if all rows are affected.
    """

    code: str
    title: str
    rows: tuple[str, ...]
    connections: tuple[int, ...]
    found: str
    changes: str
