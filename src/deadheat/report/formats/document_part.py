"""The base of every part of the JSON document."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """Rejects unknown keys and infinite numbers; an unknown figure is null."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
