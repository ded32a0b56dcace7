"""`Strict`, the base of values that are checked when they are read; and JSON that is written."""

import math
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

JsonObject = Mapping[str, object]  # nothing reads a value of it without a check


def finite(values: JsonObject) -> JsonObject:
    """The same values with None for each infinity and NaN, which JSON lacks."""
    return {name: _finite(value) for name, value in values.items()}


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return finite(value)
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Strict(BaseModel):
    """A frozen model that rejects other types and unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
