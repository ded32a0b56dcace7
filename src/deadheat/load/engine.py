"""Our own load engine, `deadheat-load`, and its resident mode.

There, one line asks for a slice, and one line answers. The lines are described in
docs/engine-slices.md.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from deadheat.errors import DeadheatError
from deadheat.host import Completed, HostError, ProcessSpec
from deadheat.load.base import (
    GeneratorFailed,
    GeneratorMissing,
    LoadResult,
    LoadSpec,
    ended_early,
    no_result,
)

if TYPE_CHECKING:
    from deadheat.host.ssh import SshHost

SCHEMA = "deadheat-load/1"
BINARY = "deadheat-load"
CA = "{ca}"  # in arguments: the CA of the run, at its own path on each of several hosts
CA_FILE = "tls/ca.pem"  # in the scratch folder of another host
GO, STOP = '{"type": "go"}', '{"type": "stop"}'
START_S = 10.0
INSTALL = "it comes with the deadheat package; in a checkout: `make build`"
PREFLIGHT = "the first request failed: "
HANDSHAKE = "handshake_us"  # a distribution of the document, and a stored histogram


def find_engine() -> str:
    """The engine's binary: DEADHEAT_LOAD, then beside this Python, then on the PATH.

    Raises `GeneratorMissing` naming the places looked in.
    """
    places = [Path(sysconfig.get_path("scripts")) / BINARY, Path(sys.executable).parent / BINARY]
    if "DEADHEAT_LOAD" in os.environ:
        places = [Path(os.environ["DEADHEAT_LOAD"])]
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    if "DEADHEAT_LOAD" not in os.environ and (on_path := shutil.which(BINARY)):
        return on_path
    looked = ", ".join(str(place.parent) for place in dict.fromkeys(places))
    raise GeneratorMissing(f"the load engine {BINARY} is not in {looked} nor on the PATH", INSTALL)


class Engine:
    """Closed and open loop, every response checked."""

    name = "engine"

    def __init__(self, binary: str | None = None, ca: str | None = None) -> None:
        self._binary = binary or find_engine()
        self._ca = ca  # what `CA` stands for

    def version_command(self) -> list[str]:
        return [self._binary, "--version"]

    def version(self, completed: Completed) -> str:
        return "".join(completed.stdout.split()[1:2]) or "unknown"

    def transports(self, completed: Completed) -> str | None:
        """What the engine of a host speaks, in its own words."""
        return completed.stdout.partition("transports: ")[2].strip() or None

    def install_hint(self) -> str:
        return INSTALL

    def null_server(self, port: str, work: int, address: str) -> list[str]:
        """The command of the null server: the least a server can do."""
        listening = ["--bind", address, "--null-server", port]
        return [self._binary, *listening, "--null-work", str(work)]

    def command(self, spec: LoadSpec) -> list[str]:
        timing = ["-d", f"{spec.duration_s * 1000:.0f}ms", "--warmup"]
        return [*self._command(spec), "--json", *timing, f"{spec.discard_s * 1000:.0f}ms"]

    def slices_command(self, spec: LoadSpec) -> list[str]:
        """The command of a resident load process, which takes slices from its standard input."""
        return [*self._command(spec), "--slices"]

    def _command(self, spec: LoadSpec) -> list[str]:
        threads = min(spec.threads, spec.connections)
        command = [self._binary, spec.url, "-c", str(spec.connections), "-t", str(threads)]
        command += ["--timeout", f"{spec.timeout_s * 1000:.0f}ms"]
        if not spec.keep_alive:
            command += ["--close"]
        if spec.http2_streams is not None:
            command += ["--http2", "--streams", str(spec.http2_streams)]
        if spec.rate_per_s is not None:
            command += ["--rate", f"{spec.rate_per_s:.3f}", "--arrival", "poisson"]
            command += ["--seed", str(spec.seed)]
        if spec.expect_body is not None:
            command += ["--expect-body", spec.expect_body]
        if spec.workload is not None:
            command += ["--workload", json.dumps(spec.workload, separators=(",", ":"))]
        return [
            *command,
            *(self._ca if each == CA and self._ca else each for each in spec.arguments),
        ]

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        try:
            document = object_of(completed.stdout)
        except GeneratorFailed as error:
            raise no_result(BINARY, completed) from error
        if document.get("schema") != SCHEMA:
            raise GeneratorFailed(
                f"expected schema {SCHEMA} of {BINARY}, not {document.get('schema')}"
            )
        if "preflight_error" in document:
            raise GeneratorFailed(f"{PREFLIGHT}{document['preflight_error']}")
        if document.get("interrupted"):
            raise ended_early(self.name, document.get("elapsed_s") or 0.0, spec)
        return result_of(document, self.name, version)


def result_of(document: Mapping[str, Any], generator: str, version: str) -> LoadResult:
    """What one JSON document of the engine measured.

    Raises `GeneratorFailed` if it lacks something, as that of an engine of another version may.
    """
    try:
        return _result_of(document, generator, version)
    except (KeyError, TypeError, AttributeError) as error:
        raise GeneratorFailed(
            f"{BINARY} printed a document that cannot be read: {error!r}",
            "its version is another one than deadheat's; in a checkout: make build",
        ) from error


def _result_of(document: Mapping[str, Any], generator: str, version: str) -> LoadResult:
    latency = document["latency"]
    return LoadResult(
        generator=generator,
        version=version,
        rate_per_s=document["rate_per_s"],
        requests_ok=document["classes"]["ok"],
        elapsed_s=document["elapsed_s"],
        errors={
            **{k: n for k, n in document["classes"].items() if k != "ok" and n},
            **_misbehavior(document["connections"]),
        },
        service_us=_figures(latency["service_us"]),
        response_us=_figures(latency.get("response_us")),
        first_byte_us=_figures(latency.get("first_byte_us")),
        histograms={
            name: part["hdr_v2_base64"]
            for name, part in (latency | _handshakes(document)).items()
            if part and part["count"]
        },
        series=document["series"],
        requests_sent_in_all=document["requests"]["scheduled"] + document["warmup"]["scheduled"],
        connections_established=document["connections"]["established"],
        connections_served=document["connections"]["served"],
        jain_fairness=document["connections"]["jain_fairness"],
        busiest_thread_share=document["client"]["busiest_thread_share"],
        run_wait_share=document["client"]["run_wait_share"],
        little_law_error=document["little_law_error"],
        client_cpu_s=document["client"]["cpu_s"],
        offered_rate_per_s=document["offered_rate_per_s"],
        client_lag_us_p99=_figures(latency.get("client_lag_us")).get("p99"),
        limits=document["limits"],
        bytes_in=document["bytes_in"],
        retransmits=document["connections"].get("retransmits"),
        spurious_retransmits=document["connections"].get("spurious_retransmits"),
        out_of_order=document["connections"].get("out_of_order"),
        bytes_out=document.get("bytes_out"),
        packets_in=document["connections"].get("packets_in"),
        data_packets_in=document["connections"].get("data_packets_in"),
        packets_out=document["connections"].get("packets_out"),
        window_s=document["window_s"],
        paused_s=document["pauses"]["total_s"],
        longest_pause_us=document["pauses"]["longest_us"],
        too_short_to_gather_share=document["client"].get("too_short_to_gather_share"),
        tls="; ".join((document.get("tls") or {}).get("parameters", ())) or None,
    )


def _handshakes(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The times of handshakes, of runs with a connection for each request.

    Kept connections open at the same time, so their handshakes wait for each other.
    """
    tls = document.get("tls") if document["config"]["close"] else None
    return {HANDSHAKE: tls[HANDSHAKE]} if tls else {}


def _misbehavior(connections: Mapping[str, Any]) -> dict[str, int]:
    """Connections on which a server did wrong without a request, also between slices."""
    counts = {name: connections.get(name, 0) for name in ("unsolicited_idle", "unclosed")}
    return {name: count for name, count in counts.items() if count}


def _figures(part: Mapping[str, Any] | None) -> dict[str, float | None]:
    return {k: v for k, v in part.items() if k != "hdr_v2_base64"} if part else {}


@dataclass(frozen=True, slots=True)
class SliceRequest:
    """One slice: how long counted requests are sent, and how long others before them.

    `renew` closes and reopens every connection first. `hang_up` closes them after the slice; the
    next slice opens them again. With `together`, the load process measures after `GO`, and loads
    until `STOP`.
    """

    duration_s: float
    discard_s: float = 0.01
    renew: bool = False
    hang_up: bool = False
    together: bool = False

    def line(self, number: int) -> str:
        """The line that asks for it; its answer repeats the number."""
        return json.dumps({"id": number, **asdict(self)})


def read_point(line: str, wanted: str, number: int) -> None:
    """Check that a slice with `together` is at a point: `waiting`, `going` or `measured`.

    Raises `GeneratorFailed` for another answer.
    """
    answer = _accepted(line)
    if answer.get("type") != wanted or answer.get("id") != number:
        raise GeneratorFailed(f"{BINARY} is not {wanted} in slice {number}: {line[:200]}")


def read_ready(line: str) -> None:
    """Check the first line of a resident load process. Raises `GeneratorFailed`."""
    answer = object_of(line)
    if answer.get("schema") != SCHEMA:
        raise GeneratorFailed(
            f"{BINARY} speaks schema {answer.get('schema')}, expected {SCHEMA}",
            "rebuild it: make build",
        )
    if fault := answer.get("preflight_error"):
        raise GeneratorFailed(f"{PREFLIGHT}{fault}")


def read_slice(line: str, number: int, version: str) -> LoadResult:
    """What one slice measured. Raises `GeneratorFailed` for another answer."""
    answer = _accepted(line)
    if answer.get("type") != "slice" or answer.get("id") != number:
        raise GeneratorFailed(f"{BINARY} did not answer slice {number}: {line[:200]}")
    if answer.get("interrupted"):
        raise GeneratorFailed(f"{BINARY} was interrupted during slice {number}")
    result = result_of(answer, Engine.name, version)
    if result.requests_ok or result.errors_total or not result.sending_s:
        return result
    # Nothing was sent in the window, so it lay in a pause, and the engine saw no end of that.
    pause_us = max(result.longest_pause_us or 0.0, 1e6 * result.sending_s)
    return replace(
        result, paused_s=max(result.paused_s or 0.0, result.sending_s), longest_pause_us=pause_us
    )


def _accepted(line: str) -> Mapping[str, Any]:
    answer = object_of(line)
    if answer.get("type") == "error":
        raise GeneratorFailed(f"{BINARY} refused the slice: {answer.get('message')}")
    return answer


def object_of(line: str) -> Mapping[str, Any]:
    """The JSON object of a line. Raises `GeneratorFailed`."""
    try:
        answer = json.loads(line)
    except json.JSONDecodeError as error:
        raise GeneratorFailed(f"{BINARY} printed no JSON: {line[:200]}") from error
    if not isinstance(answer, dict):
        raise GeneratorFailed(f"{BINARY} printed no JSON object: {line[:200]}")
    return answer


def send_engine(host: "SshHost") -> Engine:
    """The engine there. Raises `DeadheatError` if this machine's does not run there."""
    theirs, ours = host.fingerprint().architecture, platform.machine()
    if theirs != ours:
        raise DeadheatError(
            f"{host.target}: its architecture is {theirs}: the load engine here is for {ours}",
            f"use a host with {ours}, or run deadheat on a machine with {theirs}",
        )
    binary = Path(find_engine()).read_bytes()
    digest = hashlib.sha256(binary).hexdigest()[:12]
    path = host.cache_folder() / "engine" / digest / BINARY
    if _starts(host, path) is None:
        host.send_file(path, binary, executable=True)
    started = _starts(host, path)
    if started is None or started.exit_code != 0:
        said = started.stderr.strip() if started else "it cannot be started"
        raise DeadheatError(
            f"{host.target}: the load engine of this machine does not run there: {said[-300:]}",
            "use a host whose C library is as new as this machine's",
        )
    return Engine(str(path), str(host.scratch_folder() / CA_FILE))


def _starts(host: "SshHost", path: PurePosixPath) -> Completed | None:
    """What it says of its version; None if it does not exist there."""
    try:
        return host.run(ProcessSpec([str(path), "--version"]), START_S)
    except HostError:
        return None
