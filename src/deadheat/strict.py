"""`Strict`: the base of every value that is checked when it is read."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen model that rejects other types and unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
