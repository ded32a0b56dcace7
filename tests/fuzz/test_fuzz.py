"""A short, repeatable form of `bench/fuzz.py`."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.targets import TARGETS, Target, check_input


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_a_stranger_ends_in_a_traceback(name: str) -> None:
    target = TARGETS[name]

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=target.short,
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def check(content: object) -> None:
        check_input(target, content)

    check()


def test_the_check_notices_a_traceback_and_a_file_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")

    def read_secret(_: object, __: Path) -> None:
        secret.read_text()

    opens = Target(TARGETS["figures"].inputs, read_secret, 1)
    with pytest.raises(AssertionError, match="secret was opened"):
        check_input(opens, b"")

    def fail(content: object, _: Path) -> None:
        raise KeyError(content)

    fails = Target(TARGETS["figures"].inputs, fail, 1)
    with pytest.raises(KeyError):
        check_input(fails, b"")
