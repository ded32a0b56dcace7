"""`--runtime` and the options that it excludes."""

import pytest

from tests.cli.conftest import Deadheat


@pytest.mark.parametrize(
    ("command", "options", "excluded"),
    [
        ("run", ["--protocol", "brief", "--isolate"], "isolate"),
        ("run", ["--protocol", "brief", "--install"], "install"),
        ("run", ["--protocol", "brief", "--server-host", "lab"], "server-host"),
        (
            "run",
            [
                "--protocol",
                "brief",
                "--server-host",
                "lab",
                "--load-host",
                ".",
                "--load-host",
                "far",
            ],
            "server-host",
        ),
        ("run", ["--protocol", "brief", "--load-host", "lab"], "load-host"),
        ("verify", ["--strict"], "strict"),
        ("verify", ["--load-host", "lab"], "load-host"),
        ("capacity", ["--server-host", "lab"], "server-host"),
        ("capacity", ["--load-host", "lab"], "load-host"),
    ],
)
def test_containers_exclude_options_of_other_places(
    deadheat: Deadheat, command: str, options: list[str], excluded: str
) -> None:
    ended = deadheat(command, "go-gin", "--runtime", "podman", *options)
    assert ended.code == 2
    assert f"--runtime podman and --{excluded} exclude each other" in ended.err
    assert "docs/containers.md" in ended.err


def test_a_base_image_needs_containers(deadheat: Deadheat) -> None:
    ended = deadheat("run", "go-gin", "--protocol", "brief", "--base-image", "localhost/debian:12")
    assert ended.code == 2
    assert "--base-image: expected --runtime podman or --runtime docker" in ended.err


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("regress", "--base", "main"), "both run natively"),
        (("calibrate",), "the null server, which always runs natively"),
    ],
    ids=["regress", "calibrate"],
)
@pytest.mark.parametrize("option", ["--runtime", "--base-image"])
def test_a_command_without_containers_says_why(
    deadheat: Deadheat, words: tuple[str, ...], cause: str, option: str
) -> None:
    ended = deadheat(*words, option, "podman")
    assert ended.code == 2
    assert f"{option} podman: expected none, because" in ended.err
    assert cause in ended.err
    assert ended.hint.startswith("omit it")


@pytest.mark.parametrize("name", ["regress", "calibrate"])
def test_the_help_of_a_command_without_containers_does_not_offer_them(
    deadheat: Deadheat, name: str
) -> None:
    shown = deadheat(name, "--help").out
    assert "--runtime" not in shown
    assert "--base-image" not in shown
