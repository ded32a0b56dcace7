"""Amends a protocol with values from the command line; a replay lists each of them."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from deadheat.catalog import faults_text
from deadheat.errors import DeadheatError, UsageFault
from deadheat.protocol.model import SCALE_MAX, AloneProtocol, Fixed, Protocol, SliceProtocol

WHOLE_SECONDS = ("wrk", "ab")  # generators whose duration is a whole number of seconds
AB_CROWD = 10_000  # more connections at once than this took ab up to 7 s to open
AB_CROWD_S = 10.0
GENERATOR_OPTIONS = ("arguments", "request_cap")  # for the protocol's own generator only
ALONE_HAS_NO = {
    "budget_s": "each server has a fixed number of repetitions",
    "invocations": "`restart` in the protocol says when a server starts anew",
    "margin": "servers that run alone have no intervals",
}

P = TypeVar("P", bound=Protocol)


def amend(
    protocol: P,
    changes: Mapping[str, object],
    stopping: Mapping[str, object],
    scale: float = 1.0,
    lift_cap: bool = False,
) -> P:
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
    values = protocol.model_dump() | given
    if stop := {key: value for key, value in stopping.items() if value is not None}:
        values["stopping"] = _stopping(protocol, values.get("stopping", {}), stop)
    _use_generator(protocol, values, lift_cap)
    if isinstance(protocol, SliceProtocol) and ("duration_s" in given or scale != 1):
        values["slices"] = values["slices"] | {"shortest_s": None}
    _scale(values, scale)
    _check_crowd(values, scale)
    if isinstance(protocol, AloneProtocol) and protocol.origin is not None:
        values["deviations"] = [*protocol.deviations, *_deviations(protocol, values)]
    try:
        return cast(P, type(protocol).model_validate(values))
    except ValidationError as error:
        raise UsageFault(
            f"protocol {protocol.name} with these options: {faults_text(error, values)}",
            f"`deadheat plan --protocol {protocol.name} --json` shows its own values",
        ) from error


def _stopping(
    protocol: Protocol, own: Mapping[str, Any], given: Mapping[str, object]
) -> dict[str, Any]:
    """When a run ends, with what is given. Repetitions end a race without a budget."""
    if isinstance(protocol, AloneProtocol):
        for key in given:
            if key in ALONE_HAS_NO:
                raise DeadheatError(
                    f"{_flag(key)}: protocol {protocol.name} runs one server after the other: "
                    f"{ALONE_HAS_NO[key]}",
                    f"omit {_flag(key)}",
                )
        return {**own, **given}
    if "repetitions" in given and own.get("kind") != "fixed":
        own = {name: own[name] for name in own if name in Fixed.model_fields} | {"kind": "fixed"}
    merged = {**own, **given}
    if merged.get("kind") == "fixed" and "budget_s" in given:
        raise DeadheatError(
            f"--budget: protocol {protocol.name} ends after {merged['repetitions']} repetitions, "
            "however long they take",
            "omit --budget, or use --protocol settle without --repetitions",
        )
    return merged


def _flag(key: str) -> str:
    return f"--{key.removesuffix('_s')}"


def _use_generator(protocol: Protocol, values: dict[str, Any], lift_cap: bool) -> None:
    """Our engine measures in slices; another one sends whole loads, as in replays."""
    name = values["generator"]
    if not isinstance(protocol, AloneProtocol):
        if name != "engine":
            raise DeadheatError(
                f"--generator {name}: protocol {protocol.name} needs our engine: "
                f"{name} cannot send the short loads of a race",
                f"omit --generator; a replay loads with {name}, such as "
                "deadheat run --protocol kzmake-2018 --generator " + name,
            )
        return
    if lift_cap:
        values["request_cap"] = None
    if name != protocol.generator:
        fields = AloneProtocol.model_fields
        values |= {option: fields[option].default for option in GENERATOR_OPTIONS}


def _scale(values: dict[str, Any], scale: float) -> None:
    """Multiply each duration of load. Limits stay, because shorter ones would end more trials."""
    if scale == 1:
        return
    values["duration_scale"] *= scale
    for name in {"duration_s", "discard_s"} & values.keys():
        values[name] *= scale
    values["warmup"] = values["warmup"] | {"duration_s": values["warmup"]["duration_s"] * scale}
    if values["generator"] in WHOLE_SECONDS:
        values["duration_s"] = float(max(1, round(values["duration_s"])))


def _check_crowd(values: Mapping[str, Any], scale: float) -> None:
    """Refuse a replay whose largest level cannot give a result.

    ab opens all connections before it reads an answer, and the kernel drops those that come at once
    beyond a listen queue; they are tried again after 1, 3 and 7 s.
    """
    if scale == 1 or values["generator"] != "ab" or values["duration_s"] >= AB_CROWD_S:
        return
    if crowded := [level for level in values["connections"] if level > AB_CROWD]:
        kept = ",".join(str(level) for level in values["connections"] if level <= AB_CROWD)
        instead = f"leave it out with --connections {kept}, or " if kept else ""
        raise DeadheatError(
            f"--duration-scale {scale:g}: ab cannot open {crowded[0]:,} connections in "
            f"{values['duration_s']:g} s, so that level would have no result",
            f"{instead}omit --duration-scale",
        )


def _deviations(protocol: AloneProtocol, values: Mapping[str, Any]) -> list[str]:
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
