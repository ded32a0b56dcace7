"""What columns hold, as values; `StoreError` for what cannot be read, with its run and field."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from deadheat.catalog import faults_text
from deadheat.errors import StoreError
from deadheat.foreign_text import masked, without_secrets
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


def masked_protocol(values: Any, secrets: frozenset[str]) -> Any:
    """The JSON of a protocol with `***` for passwords in the headers and bodies of requests.

    Not elsewhere: a password may be any word, such as the name of a key.
    """
    workloads = values.get("workloads") if secrets and isinstance(values, dict) else None
    if not isinstance(workloads, list):
        return values
    text = json.loads(json.dumps(values))
    requests = [
        each
        for workload in text["workloads"]
        if isinstance(workload, dict) and isinstance(workload.get("requests"), list)
        for each in workload["requests"]
        if isinstance(each, dict)
    ]
    for request in requests:
        if isinstance(request.get("headers"), dict):
            headers = request["headers"].items()
            request["headers"] = {name: masked(str(value), secrets) for name, value in headers}
        if isinstance(request.get("body"), str):
            request["body"] = masked(request["body"], secrets)
    return text


def masked_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a contender, with `***` for passwords in its start command."""
    command = manifest.get("command")
    if not isinstance(command, list):
        return dict(manifest)
    return {**manifest, "command": [*without_secrets([str(word) for word in command])[0]]}
