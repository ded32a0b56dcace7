"""`Strict`, the base of values that are checked when they are read; and JSON that is written."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

JsonObject = Mapping[str, object]  # nothing reads a value of it without a check


class Strict(BaseModel):
    """A frozen model that rejects other types and unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
