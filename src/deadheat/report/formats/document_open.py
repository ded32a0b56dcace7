"""What a level leaves open, in the JSON document."""

from deadheat.report.formats.document_part import Part


class Open(Part):
    """What a level leaves open, and what to type next."""

    text: str
    """A pair, such as `a ~ b`, or what is missing."""
    figures: str
    command: str
