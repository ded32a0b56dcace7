"""What every part of the JSON document is."""

from pydantic import BaseModel, ConfigDict

from deadheat.report.model.shape import SHAPE, Finite

__all__ = ["Finite", "Part"]


class Part(BaseModel):
    """Nothing unknown, nothing infinite; what is not known is null."""

    model_config = ConfigDict(**SHAPE, frozen=True)
