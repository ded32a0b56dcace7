"""CPU quotas of cgroups: which one holds, and what they stopped."""

from pathlib import Path

import pytest

from deadheat.host.agent.quota import above, quota_of, throttled
from deadheat.host.doctor import Machine, cpu_quota
from deadheat.host.fingerprint import Fingerprint
from tests.host.test_doctor import machine as made_machine


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "20000 100000"}, 0.2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.cfs_quota_us": "150000", "cpu.cfs_period_us": "100000"}, 1.5),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        ({"cpu.max": "nonsense"}, None),
        ({}, None),
    ],
)
def test_reads_the_quota_of_both_kinds_of_cgroups(
    files: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    assert quota_of(tmp_path) == quota


def test_a_container_sees_only_some_parents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert above(tmp_path, "/a/b") == [tmp_path / "a", tmp_path]
    assert above(tmp_path, "/") == [tmp_path]


def test_counts_what_a_quota_stopped(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("nr_periods 10\nnr_throttled 7\n")
    assert throttled([tmp_path]) == 7
    assert throttled([]) is None


def test_bug_doctor_did_not_see_a_quota() -> None:
    machine = made_machine()
    assert cpu_quota(machine) is None
    limited = machine.fingerprint.model_copy(update={"cpu_quota": 0.2})
    finding = cpu_quota(Machine(limited, machine.samples))
    assert finding is not None
    assert (finding.level, finding.reading) == ("bad", "0.2 CPUs in each period")
    assert "cpu_quota" not in machine.fingerprint.to_json()  # as stored bundles have it
    assert Fingerprint.model_validate(limited.to_json()).cpu_quota == 0.2
