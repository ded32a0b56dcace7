"""`deadheat doctor` on this machine, and with made-up findings."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from deadheat.cli import cli, doctor, main
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
    assert all(set(f) == {"level", "topic", "reading", "meaning", "command"} for f in findings)


def test_doctor_prints_plain_lines_of_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = doctor_on(monkeypatch, [BAD, WARN, OK]).output.splitlines()
    assert lines[0] == "bad   cpus: 1 of 1 usable"
    assert "      $ echo 0 | sudo tee boost" in lines
    assert lines[-2:] == ["ok    swap: none", "1 bad, 1 warn, 0 note, 1 ok"]
    assert all(len(line) <= 80 and "\x1b" not in line for line in lines)


def test_doctor_does_not_wrap_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Finding("warn", "governor", "powersave", "Slow.", "echo performance | " + "tee x " * 20)
    assert "      $ " + (long.command or "").rstrip() in doctor_on(monkeypatch, [long]).output


def test_doctor_fails_only_if_strict_and_a_finding_is_bad(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert doctor_on(monkeypatch, [BAD]).exit_code == 0
    assert doctor_on(monkeypatch, [BAD], "--strict").exit_code == 1
    assert doctor_on(monkeypatch, [WARN, OK], "--strict").exit_code == 0


def test_strict_sets_the_exit_code_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: `main` took the 1 of `Context.exit(1)` for a return value."""
    monkeypatch.setattr(doctor, "examine", lambda machine: [BAD])
    monkeypatch.setattr(doctor, "look_at", lambda host: None)
    monkeypatch.setattr(sys, "argv", ["deadheat", "doctor", "--strict"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1


def test_doctor_help_shows_an_example() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from deadheat.cli import main; main()", "doctor", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Examples:\n    deadheat doctor\n    deadheat doctor --strict" in done.stdout
