"""Parts of the JSON document that replays and decay studies have."""

from deadheat.report.formats.document_part import Finite, Part


class Recovery(Part):
    """What came after one trial of a decay study."""

    invocation: int
    block: int
    recovered_after_s: Finite | None
    """The start of the first probe that reached the rate again; null if none did."""
    cpu_burnt_s: Finite | None
    """CPU time that the server used after the load had ended."""
    burnt_for_s: Finite | None
    idle: bool | None
    """Whether it became idle while it was watched."""
    reason: str | None


class Defect(Part):
    """A way in which published or replayed figures mislead."""

    code: str
    title: str
    rows: tuple[str, ...]
    """Empty if all rows are affected."""
    connections: tuple[int, ...]
    found: str
    changes: str
