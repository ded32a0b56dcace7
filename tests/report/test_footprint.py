"""What servers take up, in every format, and beside another run."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.report import write
from deadheat.report.findings.comparison import two_runs
from deadheat.report.findings.footprint import Footprint, MeanOfStarts, footprint
from tests.report.made import SETTLE, MadeRun, made_run

MIB = 1024 * 1024
HELD = {100: 100, 1000: 1000}


def taken(path: Path, idle_mib: float = 10, held: dict[int, int] = HELD, **more: Any) -> MadeRun:
    """Three starts of `alpha` with 2 KiB for each connection, and a trial of it."""
    protocol = SETTLE | {
        "kind": "alone",
        "stopping": {"kind": "fixed", "repetitions": 3},
        "idle_connections": [*held],
    }
    path.mkdir(exist_ok=True)
    run = made_run(path / "runs.sqlite", protocol=protocol, **more)
    run.contender("alpha")
    for start in (1, 2, 3):
        idle_bytes = round((idle_mib + 0.1 * start) * MIB)
        idle = {"memory_bytes": idle_bytes, "processes": 2, "threads": 9, "socket_bytes": None}
        rows = [
            idle | {"asked": n, "held": served, "memory_bytes": idle_bytes + 2048 * n}
            for n, served in held.items()
        ]
        steady = {"kind": "unsought", "footprint": {"idle": idle, "connections": rows}}
        run.start("alpha", start, ready_s=0.1 * start, steady=steady)
        run.trial("alpha", 1000.0, invocation=start)
    run.end(builds={"alpha": {"size_bytes": 5 * MIB, "dependencies": 17}})
    return run


def found_in(run: MadeRun) -> Footprint:
    view = run.view()
    found = footprint(view, view.contenders[0])
    assert found is not None
    return found


def source(text: str) -> dict[str, Any]:
    return {"fingerprints": {role: {"memory_source": text} for role in ("server", "load")}}


def test_figures_are_means_over_starts_with_intervals(tmp_path: Path) -> None:
    found = found_in(taken(tmp_path))
    assert found.ready_s is not None
    assert found.ready_s.mean == pytest.approx(0.2)
    assert found.ready_s.high == pytest.approx(0.2 + 4.303 * 0.1 / 3**0.5, rel=1e-3)
    assert found.bytes_per_connection is not None
    assert found.bytes_per_connection.mean == 2048
    assert (found.peak_bytes, found.build_bytes, found.dependencies) == (48 * MIB, 5 * MIB, 17)


def test_memory_with_fewer_connections_than_asked_is_not_that_of_all(tmp_path: Path) -> None:
    run = taken(tmp_path, held={100: 100, 1000: 128})
    found = found_in(run)
    assert [each.bytes is None for each in found.connections] == [False, True]
    assert found.bytes_per_connection is None
    assert "served 128" in write(run.view(), "terminal")


def test_is_in_every_format(tmp_path: Path) -> None:
    run = taken(tmp_path)
    view = run.view(whole=True)
    text = write(view, "terminal")
    for words in ("Footprint", "anonymous and shared memory", "connection", "packages"):
        assert words in text
    assert "## Footprint" in write(view, "md")
    (contender,) = json.loads(write(view, "json"))["contenders"]
    assert contender["footprint"]["threads"] == 9
    (row,) = csv.DictReader(io.StringIO(write(view, "csv")))
    assert (row["dependencies"], row["processes"]) == ("17", "2")


def test_two_runs_agree_within_their_intervals_or_differ(tmp_path: Path) -> None:
    """Both ways to count have one meaning."""
    runs = [
        taken(tmp_path / str(idle), idle, **source(f"anonymous and shared, {how}"))
        for idle, how in ((10.0, "PSS"), (10.05, "cgroup"), (14.0, "PSS"))
    ]
    first, alike, other = (run.view() for run in runs)
    for second, verdict in ((alike, "agree"), (other, "differ")):
        (line,) = (line for line in two_runs(first, second)[0] if "idle, KiB" in line)
        assert line.endswith(verdict)


def test_bug_a_comparison_of_races_listed_every_footprint_in_powers_of_ten(tmp_path: Path) -> None:
    """48 lines of two races said that all agree, with memory such as 1.707e+04."""
    first, alike, other = (
        taken(tmp_path / str(idle), idle, held={}).view() for idle in (10.0, 10.05, 14.0)
    )
    assert "  agree: 2 of 2 figures" in two_runs(first, alike)[0]
    lines = [" ".join(line.split()) for line in two_runs(first, other)[0]]
    assert "alpha idle, KiB 10,445 [254] 14,541 [254] differ" in lines
    assert "agree: 1 of 2 figures" in lines


@pytest.mark.parametrize("before", ["cgroup", "sampled PSS"])
def test_refuses_to_compare_memory_of_another_meaning(tmp_path: Path, before: str) -> None:
    """`memory.current` contains page cache, which anonymous and shared memory does not."""
    runs = [
        taken(tmp_path / "a", **source(before)),
        taken(tmp_path / "b", **source("anonymous and shared, cgroup")),
    ]
    first, second = (run.view() for run in runs)
    lines, document = two_runs(first, second)
    assert {each.figure for each in document.footprint} == {"start, s"}
    assert any(line.strip().startswith("memory is not compared") for line in lines)


def test_one_start_has_no_interval() -> None:
    spread = MeanOfStarts.of([3.0], 0.95)
    assert spread is not None
    assert (spread.mean, spread.low) == (3.0, None)
    assert MeanOfStarts.of([None], 0.95) is None
