"""What every part of the JSON document is."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """Nothing unknown, nothing infinite; what is not known is null."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
