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

PRINTED = (Path(__file__).parent / "output" / "ab-close.txt").read_text()
SPEC = LoadSpec("http://127.0.0.1:1/", 300, 2.0, keep_alive=False, request_cap=50_000)
BOTH = Several(Ab(), 200)


def test_few_connections_are_the_generators_own() -> None:
    few = replace(SPEC, connections=200)
    assert BOTH.command(few) == Ab().command(few)


def test_many_are_shared_out() -> None:
    *_, commands = BOTH.command(SPEC)
    assert [one[one.index("-c") + 1] for one in json.loads(commands)] == ["150", "150"]
    assert [one[one.index("-n") + 1] for one in json.loads(commands)] == ["25000", "25000"]


def test_what_they_print_adds_up() -> None:
    one = Ab().parse(SPEC, Completed(0, PRINTED, "", 0, 0), "2")
    told = json.dumps([[0, PRINTED, ""], [0, PRINTED, ""]])
    both = BOTH.parse(SPEC, Completed(0, told, "", 0, 0), "2")
    assert both.requests_ok == 2 * one.requests_ok
    assert both.elapsed_s == one.elapsed_s
    assert both.rate_per_s == pytest.approx(2 * one.rate_per_s, rel=0.01)
    assert both.service_us["max"] == one.service_us["max"]


def test_no_output_is_no_result() -> None:
    with pytest.raises(GeneratorFailed, match="several ab ended with 1"):
        BOTH.parse(SPEC, Completed(1, "", "no python", 0, 0), "2")


def test_the_script_starts_them_together_and_reads_all() -> None:
    commands = [[sys.executable, "-c", f"print({n}); raise SystemExit({n})"] for n in (1, 2)]
    with LocalHost() as host:
        command = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
        done = host.run(ProcessSpec(command), 30)
    assert json.loads(done.stdout) == [[1, "1\n", ""], [2, "2\n", ""]]
