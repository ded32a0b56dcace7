"""`deadheat verify --strict`: reviews folders as a maintainer would, for a pull request."""

from collections.abc import Sequence
from dataclasses import asdict

from deadheat.build.prepare import prepare
from deadheat.catalog import Server, selection
from deadheat.cli.exit_codes import ExitCode
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import builder_on, host_for_builds, local_world
from deadheat.host import Limits
from deadheat.measure.review import Check, review
from deadheat.output import echo, echo_json
from deadheat.report.formats.review_markdown import review_markdown


def verify_strictly(
    servers: Sequence[Server], setting: str, limits: Limits, as_json: bool
) -> ExitCode:
    """Review each server without a network, print a report, and say whether a check failed."""
    failed = False
    reports = []
    with (
        local_world("engine", 1, limits=limits, isolate=True) as world,
        host_for_builds(world, limits, isolate=True) as host,
        progress_view() as listen,
    ):
        machine = _machine(world.server_host.fingerprint())
        builder = builder_on(host, limits)
        for server in servers:
            chosen = selection(server, setting)
            (candidate,) = prepare([chosen], world.server_host, builder, listen)
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


def _machine(fingerprint: dict[str, object]) -> str:
    return f"{fingerprint.get('os') or 'Linux'}, kernel {fingerprint.get('kernel') or 'unknown'}"
