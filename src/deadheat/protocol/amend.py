"""A protocol with the command line's values in place of its own; a replay tells each of them."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from deadheat.catalog import model_faults
from deadheat.errors import DeadheatError
from deadheat.protocol.model import Protocol

WHOLE_SECONDS = ("wrk", "ab")  # take no fraction of one
FOREIGN = ("arguments", "request_cap")  # what only the protocol's own generator understands


def amend(
    protocol: Protocol,
    changes: Mapping[str, object],
    stopping: Mapping[str, object],
    scale: float = 1.0,
    lift_cap: bool = False,
) -> Protocol:
    """The protocol with these values in place of its own, checked again.

    Values of None leave the protocol's as they are; `scale` multiplies every duration;
    `lift_cap` takes the request cap off. Raises `DeadheatError`.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    stop = {key: value for key, value in stopping.items() if value is not None}
    values = protocol.model_dump() | given
    values["stopping"] = values["stopping"] | stop
    if lift_cap:
        values["request_cap"] = None
    if values["generator"] != protocol.generator:
        values |= {name: Protocol.model_fields[name].default for name in FOREIGN}
    _scale(values, scale)
    if protocol.origin is not None:
        values["deviations"] = [*protocol.deviations, *_told(protocol, values)]
    try:
        return Protocol.model_validate(values)
    except ValidationError as error:
        told = [
            f"{'.'.join(map(str, location))}: {text}" if location else text
            for location, text in model_faults(error, values)
        ]
        raise DeadheatError(
            f"protocol {protocol.name} with these options: {'; '.join(told)}",
            f"`deadheat plan --protocol {protocol.name} --json` shows what it says by itself",
        ) from error


def _scale(values: dict[str, Any], scale: float) -> None:
    """Multiply what is a time under load; limits stay, as a shorter one would cut more off."""
    if scale == 1:
        return
    values["duration_scale"] *= scale
    for name in ("duration_s", "discard_s"):
        values[name] *= scale
    values["warmup"] = values["warmup"] | {"duration_s": values["warmup"]["duration_s"] * scale}
    if values["generator"] in WHOLE_SECONDS:
        values["duration_s"] = float(max(1, round(values["duration_s"])))


def _told(protocol: Protocol, values: Mapping[str, Any]) -> list[str]:
    """What of a replay is no longer as published; its scale has a place of its own."""
    told = []
    if values["generator"] != protocol.generator:
        told.append(f"{values['generator']} in place of {protocol.generator}")
    elif protocol.request_cap is not None and values["request_cap"] is None:
        told.append(f"without the cap of {protocol.request_cap:,} requests")
    for name, noun in (("connections", "connections"), ("threads", "load threads")):
        if (now := values[name]) != (then := getattr(protocol, name)):
            told.append(f"{_plain(now)} {noun} in place of {_plain(then)}")
    if values["keep_alive"] != protocol.keep_alive:
        told.append("a connection per request")
    scaled = values["duration_scale"] != protocol.duration_scale
    if not scaled and values["duration_s"] != protocol.duration_s:
        told.append(f"{values['duration_s']:g} s in place of {protocol.duration_s:g} s")
    if values["stopping"]["repetitions"] != protocol.stopping.repetitions:
        told.append(f"published with {protocol.stopping.repetitions} repetitions")
    return told


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
