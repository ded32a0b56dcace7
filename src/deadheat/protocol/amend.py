"""Amends a protocol with values from the command line; a replay lists each of them."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from deadheat.catalog import faults_text
from deadheat.errors import DeadheatError
from deadheat.protocol.model import SCALE_MAX, Protocol

WHOLE_SECONDS = ("wrk", "ab")  # generators whose duration is a whole number of seconds
UNSLICED = {"duration_s": 0.2, "discard_s": 0.3}  # of a trial on new connections, to settle
GENERATOR_OPTIONS = ("arguments", "request_cap")  # for the protocol's own generator only


def amend(
    protocol: Protocol,
    changes: Mapping[str, object],
    stopping: Mapping[str, object],
    scale: float = 1.0,
    lift_cap: bool = False,
) -> Protocol:
    """The protocol with these values instead of its own, checked again.

    None leaves a value of the protocol unchanged. `scale` multiplies every duration.
    `lift_cap` removes the request cap. Raises `DeadheatError`.
    """
    if not 0 < scale <= SCALE_MAX:  # also not for NaN
        raise DeadheatError(
            f"--duration-scale {scale:g}: expected a number above 0, at most {SCALE_MAX:g}",
            "0.1 makes every duration a tenth",
        )
    given = {key: value for key, value in changes.items() if value is not None}
    stop = {key: value for key, value in stopping.items() if value is not None}
    values = protocol.model_dump() | given
    values["stopping"] = values["stopping"] | stop
    if lift_cap:
        values["request_cap"] = None
    if values["generator"] != protocol.generator:
        values |= {name: Protocol.model_fields[name].default for name in GENERATOR_OPTIONS}
    if values["slices"] and values["generator"] != "engine":
        values |= {"slices": None, **_unsliced(values), **given}
    if values["slices"] and ("duration_s" in given or scale != 1):
        values["slices"] = values["slices"] | {"shortest_s": None}
    _scale(values, scale)
    if protocol.origin is not None:
        values["deviations"] = [*protocol.deviations, *_deviations(protocol, values)]
    try:
        return Protocol.model_validate(values)
    except ValidationError as error:
        raise DeadheatError(
            f"protocol {protocol.name} with these options: {faults_text(error, values)}",
            f"`deadheat plan --protocol {protocol.name} --json` shows its own values",
        ) from error


def _unsliced(values: Mapping[str, Any]) -> dict[str, float]:
    """The length of a trial in place of slices; repetitions are as long as those of a block."""
    if values["stopping"]["kind"] == "settle":
        return UNSLICED
    load_s = values["slices"]["rounds"] * values["duration_s"]
    return UNSLICED | {"duration_s": float(max(1, round(load_s)))}


def _scale(values: dict[str, Any], scale: float) -> None:
    """Multiply each duration of load. Limits stay, because shorter ones would end more trials."""
    if scale == 1:
        return
    values["duration_scale"] *= scale
    for name in ("duration_s", "discard_s"):
        values[name] *= scale
    values["warmup"] = values["warmup"] | {"duration_s": values["warmup"]["duration_s"] * scale}
    if values["generator"] in WHOLE_SECONDS:
        values["duration_s"] = float(max(1, round(values["duration_s"])))


def _deviations(protocol: Protocol, values: Mapping[str, Any]) -> list[str]:
    """How a replay differs from what was published, except for its scale."""
    deviations = []
    if values["generator"] != protocol.generator:
        deviations.append(f"{values['generator']} instead of {protocol.generator}")
    elif protocol.request_cap is not None and values["request_cap"] is None:
        deviations.append(f"without the cap of {protocol.request_cap:,} requests")
    for name, noun in (("connections", "connections"), ("threads", "load threads")):
        if (value := values[name]) != (published := getattr(protocol, name)):
            deviations.append(f"{_plain(value)} {noun} instead of {_plain(published)}")
    if values["keep_alive"] != protocol.keep_alive:
        deviations.append("a connection per request")
    scaled = values["duration_scale"] != protocol.duration_scale
    if not scaled and values["duration_s"] != protocol.duration_s:
        deviations.append(f"{values['duration_s']:g} s instead of {protocol.duration_s:g} s")
    if values["stopping"]["repetitions"] != protocol.stopping.repetitions:
        deviations.append(f"published with {protocol.stopping.repetitions} repetitions")
    return deviations


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
