"""What columns hold, as values; `StoreError` for what cannot be read, with its run and field."""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from deadheat.catalog import faults_text
from deadheat.errors import StoreError
from deadheat.inflate import parse

Raw = TypeVar("Raw")
Value = TypeVar("Value")


def decoded(decode: Callable[[Raw], Value], raw: Raw, run_id: str, field_name: str) -> Value:
    """The decoded column. Raises `StoreError` that names the run and the field."""
    try:
        return decode(raw)
    except ValueError as error:
        raise StoreError(
            f"run {run_id}: {field_name} cannot be read: {error}",
            "the store or bundle is damaged, or was not written by deadheat",
        ) from error


def parsed(validate: Callable[[Any], Value], text: str, run_id: str, field_name: str) -> Value:
    """The column as a frozen value. Raises `StoreError`, also for what another version wrote."""
    values = decoded(parse, text, run_id, field_name)
    try:
        return validate(values)
    except ValueError as error:
        what = faults_text(error, values) if isinstance(error, ValidationError) else error
        raise StoreError(
            f"run {run_id}: {field_name} cannot be read: {what}",
            "the store or bundle is damaged, or another version of deadheat wrote it",
        ) from error
