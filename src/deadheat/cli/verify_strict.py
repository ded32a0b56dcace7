"""`deadheat verify --strict`: reviews folders as a maintainer would, for a pull request."""

from collections.abc import Sequence
from dataclasses import asdict

from deadheat.build.prepare import prepare
from deadheat.catalog import Server, selection
from deadheat.cli.exit_codes import ExitCode
from deadheat.cli.hosts import Hosts, host_of
from deadheat.cli.one_host import one_host
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import builder_on
from deadheat.errors import DeadheatError
from deadheat.host import Limits
from deadheat.host.fingerprint import Fingerprint
from deadheat.measure.review import Check, review
from deadheat.output import echo, echo_json
from deadheat.report.formats.inspections import review_markdown


def verify_strictly(
    servers: Sequence[Server], setting: str, limits: Limits, hosts: Hosts, as_json: bool
) -> ExitCode:
    """Review each server without a network, print a report, and say whether a check failed.

    On the server host, which also loads it: without a network, no other machine can.
    """
    failed = False
    reports = []
    with (
        host_of(hosts.server, limits, isolate=True) as isolated,
        one_host(isolated, "engine", 1) as world,
        host_of(hosts.server, limits) as host,  # builds download packages
        progress_view() as listen,
    ):
        machine = _machine(isolated.fingerprint())
        builder = builder_on(host, limits)
        for server in servers:
            chosen = selection(server, setting)
            (candidate,) = prepare([chosen], isolated, builder, listen)
            log = ""
            if candidate.built is None:
                fault, *lines = (candidate.fault or "it did not build").splitlines()
                checks = [Check("build", False, fault)]
                log = "\n".join(line.removeprefix("  | ") for line in lines)
            else:
                checks = [Check("build", True, f"key {candidate.built.key}")]
                checks += review(world, candidate, isolated=True)
            failed |= any(check.passed is False for check in checks)
            row = {"name": chosen.name, "version": candidate.version}
            reports.append({**row, "checks": [asdict(check) for check in checks]})
            if not as_json:
                echo(review_markdown(chosen.name, candidate.version, machine, checks, log))
    if as_json:
        echo_json(reports)
    return ExitCode.FAILED if failed else ExitCode.OK


def require_server_host_only(hosts: Hosts) -> None:
    """Raises `DeadheatError` for a machine that would load over a network."""
    if any(hosts.loads) or hosts.address is not None:
        raise DeadheatError(
            "--strict reviews a server without a network: expected no --load-host and no "
            "--server-address",
            "omit them; --server-host names the machine that builds, starts and loads it",
        )


def _machine(fingerprint: Fingerprint) -> str:
    return f"{fingerprint.os or 'Linux'}, kernel {fingerprint.kernel}"
