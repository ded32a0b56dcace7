"""Our own load engine, `deadheat-load`."""

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deadheat.host import Completed
from deadheat.load.base import (
    GeneratorFailed,
    GeneratorMissing,
    LoadResult,
    LoadSpec,
    ended_early,
)

SCHEMA = "deadheat-load/1"
BINARY = "deadheat-load"


def find_engine() -> str:
    """The engine's binary: DEADHEAT_LOAD, then beside this Python, then on the PATH.

    Raises `GeneratorMissing` naming the places looked in.
    """
    places = [
        Path(sysconfig.get_path("scripts")) / BINARY,
        Path(sys.executable).parent / BINARY,
    ]
    if "DEADHEAT_LOAD" in os.environ:
        places = [Path(os.environ["DEADHEAT_LOAD"])]
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    if "DEADHEAT_LOAD" not in os.environ and (on_path := shutil.which(BINARY)):
        return on_path
    looked = ", ".join(str(place.parent) for place in dict.fromkeys(places))
    raise GeneratorMissing(
        f"the load engine {BINARY} is not in {looked} nor on the PATH",
        "it comes with the deadheat package; in a checkout: `make build`",
    )


class Engine:
    """Closed and open loop, every response checked."""

    name = "engine"

    def __init__(self, binary: str | None = None) -> None:
        self._binary = binary or find_engine()

    def version_command(self) -> list[str]:
        return [self._binary, "--version"]

    def version(self, completed: Completed) -> str:
        return (completed.stdout.split() or ["unknown"])[-1]

    def install_hint(self) -> str:
        return "it comes with the deadheat package; in a checkout: `make build`"

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
        if spec.rate_per_s is not None:
            command += ["--rate", f"{spec.rate_per_s:.3f}", "--arrival", "poisson"]
            command += ["--seed", str(spec.seed)]
        if spec.expect_body is not None:
            command += ["--expect-body", spec.expect_body]
        if spec.workload is not None:
            command += ["--workload", json.dumps(spec.workload, separators=(",", ":"))]
        return [*command, *spec.arguments]

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        try:
            document = json.loads(completed.stdout)
        except json.JSONDecodeError as error:
            raise GeneratorFailed(
                f"{BINARY} ended with {completed.exit_code} and printed no result",
                (completed.stderr or completed.stdout).strip()[-500:] or None,
            ) from error
        if document.get("schema") != SCHEMA:
            raise GeneratorFailed(
                f"expected schema {SCHEMA} of {BINARY}, not {document.get('schema')}"
            )
        if "preflight_error" in document:
            raise GeneratorFailed(f"the first request failed: {document['preflight_error']}")
        if document["interrupted"]:
            raise ended_early(self.name, document["elapsed_s"], spec)
        return result_of(document, self.name, version)


def result_of(document: Mapping[str, Any], generator: str, version: str) -> LoadResult:
    """What one JSON document of the engine measured."""
    latency = document["latency"]
    return LoadResult(
        generator=generator,
        version=version,
        rate_per_s=document["rate_per_s"],
        requests_ok=document["classes"]["ok"],
        elapsed_s=document["elapsed_s"],
        errors={k: n for k, n in document["classes"].items() if k != "ok" and n},
        service_us=_figures(latency["service_us"]),
        response_us=_figures(latency.get("response_us")),
        first_byte_us=_figures(latency.get("first_byte_us")),
        histograms={
            name: part["hdr_v2_base64"] for name, part in latency.items() if part and part["count"]
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
        window_s=document["window_s"],
        paused_s=document["pauses"]["total_s"],
        longest_pause_us=document["pauses"]["longest_us"],
        too_short_to_gather_share=document["client"].get("too_short_to_gather_share"),
    )


def _figures(part: dict[str, Any] | None) -> dict[str, float | None]:
    return {k: v for k, v in part.items() if k != "hdr_v2_base64"} if part else {}
