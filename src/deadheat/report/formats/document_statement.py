"""The parts of a JSON document that say something about a run in words."""

from deadheat.report.formats.document_part import Part


class Caution(Part):
    """What to know before believing the figures."""

    code: str
    contenders: tuple[str, ...]
    text: str
    advice: str | None
    workload: str | None
    """The workload that it is about; null if it is about all of them."""


class Statement(Part):
    """A conclusion in words, about the workload's main level unless it names another."""

    topic: str
    text: str
    workload: str
