"""The user's own servers: a command, and URLs of running servers."""

import re
import sys
from pathlib import Path

import pytest

from deadheat.errors import DeadheatError
from deadheat.measure.contender import Contender
from deadheat.measure.lifecycle import Instance
from deadheat.measure.own_servers import OwnRequest, OwnServers
from deadheat.protocol import AloneProtocol, load_protocol

PROTOCOL = AloneProtocol.model_validate(
    {
        "name": "made",
        "about": "For a test.",
        "connections": [1],
        "duration_s": 1.0,
        "kind": "alone",
        "warmup": {"kind": "none"},
        "stopping": {"kind": "fixed", "repetitions": 1},
    }
)


RACE = load_protocol(Path(__file__).parents[2], "settle")


def test_keeps_the_link_of_a_virtual_environments_python(tmp_path: Path) -> None:
    """Regression: the link was followed, and the interpreter behind it lacked the packages."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    (contender,) = OwnServers([[str(link), "app.py", "{port}"]]).contenders((), PROTOCOL)
    assert contender.command == (str(link), "app.py", "{port}")


def test_the_query_of_a_url_is_part_of_its_path() -> None:
    """Regression: readiness was checked without the query."""
    url = "http://127.0.0.1:8080/search?q=x"
    contender = Contender("own", "contender", (), any_body=True, url=url)
    assert Instance(contender, "", 8080, "", 0.0).path == "/search?q=x"


def test_path_sets_the_path_of_an_own_command() -> None:
    """Regression: a server without a page at / could not race."""
    own = OwnServers([["python3", "{port}"]], path="/items?n=1")
    (contender,) = own.contenders((), PROTOCOL)
    instance = Instance(contender, "1", 8080, "", 0.0)
    assert instance.url == "http://127.0.0.1:8080/items?n=1"
    assert instance.path == "/items?n=1"


@pytest.mark.parametrize(
    ("own", "symptom"),
    [
        (OwnServers(path="/items"), "--path: expected a command behind `--`"),
        (OwnServers([("python3", "{port}")], path="items"), "--path 'items': expected a path"),
        (OwnServers(any_body=True), "--any-body: expected a server of your own"),
        (OwnServers([("python3", "8080")]), "`python3 8080` has no {port}"),
    ],
)
def test_rejects_options_that_do_not_fit(own: OwnServers, symptom: str) -> None:
    with pytest.raises(DeadheatError, match=re.escape(symptom)):
        own.contenders((), PROTOCOL)


def test_several_commands_have_the_names_that_they_are_given() -> None:
    commands = [("python3", "{port}"), ("python3", "{port}", "-x"), ("sh", "{port}")]
    own = OwnServers(commands, ["http://127.0.0.1:8080/"], ["old", "new"])
    names = [each.name for each in own.contenders(("sh",), RACE)]
    assert names == ["old", "new", "sh:own", "127.0.0.1:8080"]
    same = OwnServers(commands).contenders((), PROTOCOL)
    assert [each.name for each in same] == ["python3", "python3:own", "sh"]


def test_the_request_of_the_command_line_is_a_workload() -> None:
    request = OwnRequest(["Accept: text/html", "X-A:b"], None, '{"n": 1}', 201)
    own = OwnServers([], ["http://[::1]:8080/items?n=1"], request=request)
    own, protocol = own.with_workload(RACE)
    assert own.urls == ["http://[::1]:8080/"]
    (contender,) = own.contenders((), protocol)
    sample = contender.sample
    assert sample is not None
    assert (sample.method, sample.path, sample.body) == ("POST", "/items?n=1", b'{"n": 1}')
    assert (sample.headers, sample.status) == ((("Accept", "text/html"), ("X-A", "b")), 201)


@pytest.mark.parametrize(
    ("own", "symptom"),
    [
        (OwnServers(request=OwnRequest(method="PUT")), "--header: expected a server of your own"),
        (
            OwnServers([("sh", "{port}")], request=OwnRequest(["nonsense"])),
            "--header 'nonsense': expected NAME: VALUE",
        ),
        (
            OwnServers(urls=["http://h/a", "http://h/b"], request=OwnRequest(method="PUT")),
            "--header: one request for several paths: /a, /b",
        ),
        (OwnServers([("sh", "{port}")], names=["a", "b"]), "--name 'b': there are fewer servers"),
    ],
)
def test_rejects_a_request_or_name_that_fits_no_server(own: OwnServers, symptom: str) -> None:
    with pytest.raises(DeadheatError) as caught:
        own.with_workload(PROTOCOL)
    assert str(caught.value).startswith(symptom)
