import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.host import Completed
from deadheat.host.base import ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.load import GeneratorFailed, LoadSpec
from deadheat.load.ab import Ab
from deadheat.load.several import SCRIPT, Several
from tests.host.support import eventually

PRINTED = (Path(__file__).parent / "output" / "ab-close.txt").read_text()
SPEC = LoadSpec("http://127.0.0.1:1/", 300, 2.0, keep_alive=False, request_cap=50_000)
BOTH = Several(Ab(), 200)


def told(*numbers: int) -> str:
    """What the script prints of processes that all printed the same."""
    return "".join(json.dumps([number, 0, PRINTED, ""]) + "\n" for number in numbers)


def test_few_connections_are_the_generators_own() -> None:
    few = replace(SPEC, connections=200)
    assert BOTH.command(few) == Ab().command(few)


def test_many_are_shared_out() -> None:
    *_, commands = BOTH.command(SPEC)
    assert [one[one.index("-c") + 1] for one in json.loads(commands)] == ["150", "150"]
    assert [one[one.index("-n") + 1] for one in json.loads(commands)] == ["25000", "25000"]


def test_what_they_print_adds_up() -> None:
    one = Ab().parse(SPEC, Completed(0, PRINTED, "", 0, 0), "2")
    both = BOTH.parse(SPEC, Completed(0, told(0, 1), "", 0, 0), "2")
    assert both.requests_ok == 2 * one.requests_ok
    assert both.elapsed_s == one.elapsed_s
    assert both.rate_per_s == pytest.approx(2 * one.rate_per_s, rel=0.01)
    assert both.service_us["max"] == one.service_us["max"]


def test_no_output_is_no_result() -> None:
    with pytest.raises(GeneratorFailed, match="2 of 2 ab processes gave no result") as caught:
        BOTH.parse(SPEC, Completed(1, "", "no python", 0, 0), "2")
    assert caught.value.hint == "no python"


def test_one_without_a_result_fails_the_trial_and_is_told() -> None:
    silent = json.dumps([1, 119, "", "apr_socket_recv: reset"]) + "\n"
    with pytest.raises(GeneratorFailed, match="1 of 2 ab processes gave no result") as caught:
        BOTH.parse(SPEC, Completed(0, told(0) + silent, "", 0, 0), "2")
    assert caught.value.hint == ("ab ended with 119 and printed no result (apr_socket_recv: reset)")


def test_a_line_that_was_cut_off_is_no_result() -> None:
    with pytest.raises(GeneratorFailed, match="1 of 2 ab processes gave no result"):
        BOTH.parse(SPEC, Completed(0, told(0) + told(1)[:50], "", 0, 0), "2")


def test_the_script_starts_them_together_and_reads_all() -> None:
    commands = [[sys.executable, "-c", f"print({n}); raise SystemExit({n})"] for n in (1, 2)]
    with LocalHost() as host:
        command = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
        done = host.run(ProcessSpec(command), 30)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(lines) == [[0, 1, "1\n", ""], [1, 2, "2\n", ""]]


def test_one_that_hangs_takes_no_others_output_with_it(tmp_path: Path) -> None:
    """Regression: all was printed in the end, and so nothing where the limit came first."""
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
