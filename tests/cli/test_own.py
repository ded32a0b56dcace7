"""What the user brings to a race: `deadheat.cli.own`."""

import sys
from pathlib import Path

import pytest

from deadheat.cli.own import own_racers
from deadheat.errors import DeadheatError
from deadheat.measure.contender import Contender
from deadheat.measure.lifecycle import Instance
from deadheat.protocol import Protocol

PROTOCOL = Protocol.model_validate(
    {
        "name": "made",
        "about": "For a test.",
        "connections": [1],
        "duration_s": 1.0,
        "warmup": {"kind": "none"},
        "stopping": {"kind": "fixed", "repetitions": 1},
    }
)


def test_the_python_of_a_virtual_environment_stays_what_it_is(tmp_path: Path) -> None:
    """Regression: its link was followed, and the interpreter behind it had none of the packages."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    (one,) = own_racers([str(link), "app.py", "{port}"], (), (), PROTOCOL)
    assert one.command == (str(link), "app.py", "{port}")


def test_a_query_belongs_to_what_is_asked() -> None:
    """Regression: whether it answers was asked of the path alone."""
    url = "http://127.0.0.1:8080/search?q=x"
    contender = Contender("own", "contender", (), any_body=True, url=url)
    assert Instance(contender, "", 8080, "", 0.0).path == "/search?q=x"


def test_a_page_of_the_users_server_can_be_named() -> None:
    """Regression: a server that has nothing at / could not be raced."""
    (one,) = own_racers(["python3", "{port}"], (), (), PROTOCOL, "/items?n=1")
    instance = Instance(one, "1", 8080, "", 0.0)
    assert instance.url == "http://127.0.0.1:8080/items?n=1"
    assert instance.path == "/items?n=1"


@pytest.mark.parametrize(
    ("command", "path", "any_body", "told"),
    [
        ((), "/items", False, "--path is for a command behind `--`"),
        (("python3", "{port}"), "items", False, "--path 'items': expected what begins with /"),
        ((), None, True, "--any-body is for a server of your own"),
    ],
)
def test_an_option_without_a_server_to_speak_of_is_told(
    command: tuple[str, ...], path: str | None, any_body: bool, told: str
) -> None:
    with pytest.raises(DeadheatError, match=told):
        own_racers(command, (), (), PROTOCOL, path, any_body)
