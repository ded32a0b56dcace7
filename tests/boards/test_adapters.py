"""Files of boards are read, and foreign ones are bounded and checked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deadheat.boards.adapters import read as reading
from deadheat.boards.adapters.read import read_boards
from deadheat.boards.model import Measurement
from deadheat.errors import DeadheatError

ARENA = {
    "framework": "actix",
    "language": "Rust",
    "rps": 2891349,
    "avg_latency": "1.23ms",
    "p99_latency": "1.76ms",
    "cpu": "6595.7%",
    "memory": "142MiB",
    "connections": 4096,
    "threads": 64,
    "duration": "5s",
    "pipeline": 1,
    "status_2xx": 14456745,
    "status_4xx": 2,
    "status_5xx": 1,
}
TECHEMPOWER = {
    "name": "a run",
    "startTime": 1767225600000,
    "duration": 15,
    "concurrencyLevels": [16, 32],
    "pipelineConcurrencyLevels": [256],
    "queryIntervals": [1, 20],
    "rawData": {
        "json": {
            "gin": [
                {"latencyAvg": "1.50ms", "totalRequests": 150000, "5xx": 300, "timeout": 4},
                {"latencyAvg": "2.50ms", "totalRequests": 180000},
            ],
            "broken": [{}],
        },
        "plaintext": {"gin": [{"latencyAvg": "3.00ms", "totalRequests": 15000000}]},
        "query": {"gin": [{"totalRequests": 300}, {"totalRequests": 150}]},
        "commitCounts": {"gin": 7},
    },
}


def metric(framework: int, level: int, label: str, value: object) -> dict[str, object]:
    return {"framework_id": framework, "level": level, "label": label, "value": value}


BENCHMARKER = {
    "updated_at": "2026-02-11 23:25:12 UTC",
    "hardware": {"cpus": 16},
    "frameworks": [
        {"id": 1, "version": 4.0, "label": "spring", "language": "java"},
        {"id": 2, "version": 3.4, "label": "spring", "language": "kotlin"},
        {"id": 3, "version": "1.2", "label": "gin", "language": "go"},
    ],
    "metrics": [
        metric(1, 64, "total_requests_per_s", 1816.5),
        metric(1, 64, "percentile50", 0.0179),
        metric(1, 64, "average_latency", -1.0),
        metric(2, 64, "total_requests_per_s", 900),
        metric(3, 64, "total_requests_per_s", 40000.25),
        metric(3, 64, "percentile99", None),
        metric(3, 64, "http_errors", 12),
    ],
}


def rows_of(folder: Path, content: object, name: str = "file.json") -> dict[str, Measurement]:
    """The measurements by entry and profile."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    (board,) = read_boards([path])
    return {f"{row.entry} {row.profile}": row for row in board.measurements}


def test_reads_a_profile_of_httparena(tmp_path: Path) -> None:
    row = rows_of(tmp_path, [ARENA], "baseline-4096.json")["actix baseline-4096"]
    assert (row.family, row.rate_per_s, row.connections) == ("baseline", 2891349, 4096)
    assert [row.mean_s, row.p99_s, row.cpus_used] == pytest.approx([1.23e-3, 1.76e-3, 65.957])
    assert (row.ok, row.failed) == (14456745, 3)
    assert (row.duration_s, row.client_threads, row.depth) == (5, 64, 1)
    assert row.edition == tmp_path.name
    (board,) = read_boards([tmp_path / "baseline-4096.json"])
    assert (board.name, board.cpus) == ("httparena", 64)


def test_pipelines_of_httparena_have_sixteen_requests(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [ARENA], "pipelined-512.json")
    assert rows["actix pipelined-512"].depth == 16


def test_reads_the_benchmarker_and_tells_equal_names_apart(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, BENCHMARKER)
    assert {*rows} == {
        "spring (java) 64 connections",
        "spring (kotlin) 64 connections",
        "gin 64 connections",
    }
    java, gin = rows["spring (java) 64 connections"], rows["gin 64 connections"]
    assert (java.rate_per_s, java.p50_s, java.mean_s) == (1816.5, 0.0179, None)
    assert (java.source, gin.source, gin.failed, gin.p99_s) == ("4.0", "1.2", 12, None)
    (board,) = read_boards([tmp_path / "file.json"])
    assert (board.cpus, board.editions) == (16, ("2026-02-11 23:25:12 UTC",))


def test_bug_an_older_edition_of_the_benchmarker_had_latencies_of_minutes(tmp_path: Path) -> None:
    """Until 2025 its files had microseconds: an average of 1,074 was read as 1,074 s."""
    older = {
        **BENCHMARKER,
        "metrics": [
            metric(3, 64, "total_requests_per_s", 59_000),
            metric(3, 64, "average_latency", 1074),
            metric(3, 64, "percentile_50", 1033.5),
            metric(3, 64, "percentile_99", 1483),
            metric(3, 64, "duration_ms", 15_034_267.7),
        ],
    }
    row = rows_of(tmp_path, older, "data.json")["gin 64 connections"]
    latencies_s = [row.mean_s, row.p50_s, row.p99_s]
    assert latencies_s == pytest.approx([1.074e-3, 1.0335e-3, 1.483e-3])
    assert row.duration_s == 15


def test_reads_the_raw_counts_of_techempower(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, TECHEMPOWER, "results.json")
    assert {*rows} == {
        "gin json, 16 connections",
        "gin json, 32 connections",
        "gin plaintext, 256 connections",
        "gin query, 1 queries",
        "gin query, 20 queries",
    }
    first = rows["gin json, 16 connections"]
    assert (first.rate_per_s, first.failed, first.errors) == ((150000 - 300) / 15, 300, 4)
    assert first.mean_s == pytest.approx(1.5e-3)
    assert first.edition == "2026-01-01T00:00"
    assert rows["gin plaintext, 256 connections"].depth == 16
    assert rows["gin query, 20 queries"].connections == 32


def test_reads_a_csv_with_our_columns_or_those_of_a_board(tmp_path: Path) -> None:
    ours = "entry,rate_per_s,connections,latency_p50\ngin,1000,64,2.5ms\n"
    (row,) = rows_of(tmp_path, ours, "blog.csv").values()
    assert (row.profile, row.edition, row.p50_s) == ("64 connections", "blog", 0.0025)
    theirs = (
        "framework,committed,requests_per_s,latency_p50_s,cpu,entry_tree,profile,other\n"
        "gin,2026-02-12,1000,0.0025,150%,abc,json-512,x\n"
    )
    (row,) = rows_of(tmp_path, theirs, "theirs.csv").values()
    assert (row.edition, row.p50_s, row.cpus_used, row.source) == ("2026-02-12", 0.0025, 1.5, "abc")
    assert (row.profile, row.family) == ("json-512", "json")


def test_a_latency_that_is_none_is_kept_as_a_text(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [{**ARENA, "avg_latency": "1st"}], "baseline-h2-256.json")
    (row,) = rows.values()
    assert row.mean_s is None
    assert row.unreadable == ("avg_latency '1st'",)


def test_several_files_are_editions_and_profiles_of_one_board(tmp_path: Path) -> None:
    paths = []
    for edition in ("2026-02-01", "2026-01-01"):
        for profile in ("baseline-512", "json-4096"):
            path = tmp_path / edition / f"{profile}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps([ARENA]))
            paths.append(path)
    (board,) = read_boards(paths)
    assert board.editions == ("2026-01-01", "2026-02-01")
    assert board.profiles == ("baseline-512", "json-4096")
    with pytest.raises(DeadheatError, match="baseline-512 of edition 2026-02-01 is in") as error:
        read_boards([paths[0], paths[0]])
    assert error.value.hint is not None


def test_hidden_characters_of_a_name_are_shown(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [{**ARENA, "framework": "gin\u202e\x1b[31m" + "x" * 900}])
    (row,) = rows.values()
    assert "\x1b" not in row.entry
    assert "\u202e" not in row.entry
    assert len(row.entry) < 150


BROKEN: Mapping[str, tuple[Any, str]] = {
    "not JSON": ("{", "expected JSON"),
    "another format": ({"a": 1}, "unknown format"),
    "no entry": ([], "unknown format"),
    "a text as rate": ([{**ARENA, "rps": "fast"}], r"\[0\]\.rps: expected a number, got 'fast'"),
    "no rate": ([{**ARENA, "rps": None}], r"\[0\]\.rps: expected a number"),
    "an infinite rate": ('[{"framework":"a","rps":1e999,"avg_latency":"1s"}]', r"\[0\]\.rps"),
    "a boolean": ([{**ARENA, "rps": True}], r"\[0\]\.rps: expected a number, got True"),
    "a name that is none": ([{**ARENA, "framework": 3}], r"\[0\]\.framework: expected a name"),
    "half a connection": ([{**ARENA, "connections": 1.5}], r"connections: expected a whole number"),
    "an entry twice": ([ARENA, ARENA], "actix has two figures"),
    "deep": ("[" * 500 + "]" * 500, "nested"),
    "an unknown framework": (
        {**BENCHMARKER, "metrics": [metric(9, 64, "total_requests_per_s", 1)]},
        r"metrics\[0\]\.framework_id: expected the id of a framework, got 9",
    ),
    "no duration": ({**TECHEMPOWER, "duration": 0}, r"\.duration: expected a duration above zero"),
    "levels that are none": ({**TECHEMPOWER, "concurrencyLevels": 5}, "expected a list"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_rejects_a_broken_file_with_its_place(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(DeadheatError, match=message) as error:
        rows_of(tmp_path, content)
    assert "file.json" in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate_per_s\n1\n", r"board\.csv:1: missing column entry"),
        ("entry,rate_per_s\ngin,1,2\n", r"board\.csv:2: expected 2 columns"),
        ("entry,rate_per_s\ngin,x\n", r"board\.csv:2: rate_per_s: expected a number, got 'x'"),
        ("entry,entry\ngin,1\n", "each once"),
        ("entry,rate_per_s\n", "it has no figure"),
        ('entry,rate_per_s\n"gin,1\n', r"board\.csv:1: unexpected end of data"),
    ],
)
def test_rejects_a_broken_csv_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DeadheatError, match=message):
        rows_of(tmp_path, text, "board.csv")


def test_rejects_a_missing_file_a_device_and_too_many_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DeadheatError, match="cannot be read"):
        read_boards([tmp_path / "missing.json"])
    with pytest.raises(DeadheatError, match="expected a regular file"):
        read_boards([Path("/dev/zero")])
    monkeypatch.setattr(reading, "MEASUREMENTS_MAX", 1)
    with pytest.raises(DeadheatError, match="more than 1 figures"):
        rows_of(tmp_path, [ARENA, {**ARENA, "framework": "b"}])
