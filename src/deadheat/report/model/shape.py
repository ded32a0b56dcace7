"""What makes a dataclass of the model a part of the JSON document as it is."""

from typing import Annotated

from pydantic import ConfigDict, Field

Finite = Annotated[float, Field(allow_inf_nan=False)]
SHAPE = ConfigDict(extra="forbid", use_attribute_docstrings=True)
