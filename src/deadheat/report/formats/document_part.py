"""The base of every part of the JSON document."""

from pydantic import BaseModel, ConfigDict

from deadheat.report.model.shape import SHAPE, Finite

__all__ = ["Finite", "Part"]


class Part(BaseModel):
    """Rejects unknown keys and infinite numbers; an unknown figure is null."""

    model_config = ConfigDict(**SHAPE, frozen=True)
