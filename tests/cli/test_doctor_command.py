"""`deadheat doctor` on this machine, and its exit code; golden files have its lines."""

import json
import re

import pytest
from click.testing import CliRunner, Result

from deadheat.cli import cli, doctor
from deadheat.host.doctor import Finding

BAD = Finding("bad", "cpus", "1 of 1 usable", "Nothing can be compared here. " * 5, None)
WARN = Finding("warn", "turbo", "on", "The clock depends on heat.", "echo 0 | sudo tee boost")
OK = Finding("ok", "swap", "none", "A frozen server keeps its memory.")


def doctor_on(monkeypatch: pytest.MonkeyPatch, findings: list[Finding], *arguments: str) -> Result:
    """`deadheat doctor` with these findings."""
    monkeypatch.setattr(doctor, "examine", lambda machine: findings)
    monkeypatch.setattr(doctor, "look_at", lambda host: None)
    return CliRunner().invoke(cli, ["doctor", *arguments])


def test_doctor_prints_the_findings_of_this_machine_as_json() -> None:
    result = CliRunner().invoke(cli, ["doctor", "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    findings = json.loads(result.output)
    assert {"cpus", "open files", "containment", "memory"} <= {f["topic"] for f in findings}
    assert {"engine", "wrk", "ab"} <= {finding["topic"] for finding in findings}
    (transports,) = [finding for finding in findings if finding["topic"] == "transports"]
    assert re.fullmatch(
        r"http, https, h2, h2c; TLS 1\.3 with TLS_AES_128_GCM_SHA256, or TLS 1\.2, by .+",
        transports["reading"],
    ), "the words of the engine"
    assert "openssl and h2load are not needed" in transports["meaning"]
    assert all(set(f) == {"level", "topic", "reading", "meaning", "command"} for f in findings)


def test_doctor_fails_only_if_strict_and_a_finding_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor_on(monkeypatch, [BAD]).exit_code == 0
    assert doctor_on(monkeypatch, [BAD], "--strict").exit_code == 1
    assert doctor_on(monkeypatch, [WARN, OK], "--strict").exit_code == 0
