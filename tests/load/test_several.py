import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.host import Completed, ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.load import GeneratorFailed, LoadSpec
from deadheat.load.ab import Ab
from deadheat.load.pooling import SCRIPT, Several
from tests.host.support import eventually

PRINTED = (Path(__file__).parent / "output" / "ab-close.txt").read_text()
SPEC = LoadSpec("http://127.0.0.1:1/", 300, 1.0, keep_alive=False, request_cap=50_000)
BOTH = Several(Ab(), 200)


def script_output(*numbers: int) -> str:
    """The output of the script for processes that all print `PRINTED`."""
    return "".join(json.dumps([number, 0, PRINTED, ""]) + "\n" for number in numbers)


def test_few_connections_need_one_generator() -> None:
    few = replace(SPEC, connections=200)
    assert BOTH.command(few) == Ab().command(few)


def test_many_connections_are_split() -> None:
    *_, commands = BOTH.command(SPEC)
    words = json.loads(commands)
    assert [part[part.index("-c") + 1] for part in words] == ["150", "150"]
    assert [part[part.index("-n") + 1] for part in words] == ["25000", "25000"]


def test_results_are_added() -> None:
    single = Ab().parse(SPEC, Completed(0, PRINTED, "", 0, 0), "2")
    both = BOTH.parse(SPEC, Completed(0, script_output(0, 1), "", 0, 0), "2")
    assert both.requests_ok == 2 * single.requests_ok
    assert both.elapsed_s == single.elapsed_s
    assert both.rate_per_s == pytest.approx(2 * single.rate_per_s, rel=0.01)
    assert both.service_us["max"] == single.service_us["max"]


def test_rejects_missing_output() -> None:
    with pytest.raises(GeneratorFailed, match="2 of 2 ab processes gave no result") as caught:
        BOTH.parse(SPEC, Completed(1, "", "no python", 0, 0), "2")
    assert caught.value.hint == "no python"


def test_a_generator_without_a_result_fails_the_trial() -> None:
    silent = json.dumps([1, 119, "", "apr_socket_recv: reset"]) + "\n"
    with pytest.raises(GeneratorFailed, match="1 of 2 ab processes gave no result") as caught:
        BOTH.parse(SPEC, Completed(0, script_output(0) + silent, "", 0, 0), "2")
    assert caught.value.hint == ("ab ended with 119 and printed no result (apr_socket_recv: reset)")


def test_rejects_a_truncated_line() -> None:
    with pytest.raises(GeneratorFailed, match="1 of 2 ab processes gave no result"):
        BOTH.parse(SPEC, Completed(0, script_output(0) + script_output(1)[:50], "", 0, 0), "2")


def test_the_script_starts_all_generators_and_reads_all_output() -> None:
    commands = [[sys.executable, "-c", f"print({n}); raise SystemExit({n})"] for n in (1, 2)]
    with LocalHost() as host:
        command = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
        completed = host.run(ProcessSpec(command), 30)
    lines = [json.loads(line) for line in completed.stdout.splitlines()]
    assert sorted(lines) == [[0, 1, "1\n", ""], [1, 2, "2\n", ""]]


def test_a_hanging_generator_does_not_hide_the_output_of_others(tmp_path: Path) -> None:
    """Regression: output was printed only at the end, and lost if the time limit came first."""
    commands = [
        [sys.executable, "-c", "import time; time.sleep(600)"],
        [sys.executable, "-c", "print('whole')"],
    ]
    with LocalHost() as host:
        command = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
        log = tmp_path / "log"
        process = host.start(ProcessSpec(command), str(log))
        eventually(lambda: log.read_text().endswith("\n"))
        assert host.alive(process) is None
    assert json.loads(log.read_text()) == [1, 0, "whole\n", ""]
