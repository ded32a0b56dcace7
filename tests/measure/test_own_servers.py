"""The user's own servers: a command, and URLs of running servers."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from deadheat.build.builder import Built
from deadheat.catalog import selection
from deadheat.errors import DeadheatError
from deadheat.load import Engine
from deadheat.measure.contender import NULL_SERVER, Contender, Instance, contender_from, controls
from deadheat.measure.own_servers import OwnRequest, OwnServers, parsed_url
from deadheat.measure.url import ServerUrl
from deadheat.protocol import SliceProtocol, load_as
from tests.build.made import MANIFEST, made_server

RACE = load_as(Path(__file__).parents[2], "settle", SliceProtocol)


def test_keeps_the_link_of_a_virtual_environments_python(tmp_path: Path) -> None:
    """Regression: the link was followed, and the interpreter behind it lacked the packages."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    (contender,) = OwnServers([[str(link), "app.py", "{port}"]]).contenders((), RACE)
    assert contender.command == (str(link), "app.py", "{port}")


def test_the_query_of_a_url_is_part_of_its_path() -> None:
    """Regression: readiness was checked without the query."""
    url = "http://127.0.0.1:8080/search?q=x"
    contender = Contender("own", "contender", (), any_body=True, url=url)
    assert Instance(contender, "", 8080, "", 0.0).path == "/search?q=x"


def test_path_sets_the_path_of_an_own_command() -> None:
    """Regression: a server without a page at / could not race."""
    own = OwnServers([["python3", "{port}"]], path="/items?n=1")
    (contender,) = own.contenders((), RACE)
    instance = Instance(contender, "1", 8080, "", 0.0)
    assert instance.url == "http://127.0.0.1:8080/items?n=1"
    assert instance.path == "/items?n=1"


@pytest.mark.parametrize(
    ("own", "symptom"),
    [
        (OwnServers(path="/items"), "--path: expected a command behind `--`"),
        (OwnServers([("python3", "{port}")], path="items"), "--path 'items': expected a path"),
        (OwnServers(any_body=True), "--any-body: expected a server of your own"),
        (OwnServers([("python3", "8080")]), "the command `python3 8080` has no {port}"),
        (OwnServers(request=OwnRequest(["A: b"])), "--header: expected a server of your own"),
        (
            OwnServers([("sh", "{port}")], request=OwnRequest(["nonsense"])),
            "--header 'nonsense': expected NAME: VALUE",
        ),
        (
            OwnServers(urls=["http://h/a", "http://h/b"], request=OwnRequest(["A: b"])),
            "--header: one request for several paths: /a, /b",
        ),
        (OwnServers([("sh", "{port}")], names=["a", "b"]), "--name 'b': there are fewer servers"),
        (OwnServers(urls=["http://a/"], insecure=True), "--insecure: expected --url https://"),
        (OwnServers(urls=["http://a/"], cacert=Path("a")), "--cacert: expected --url https://"),
        (
            OwnServers(urls=["https://a/"], cacert=Path("a"), insecure=True),
            "--insecure and --cacert exclude each other",
        ),
    ],
)
def test_rejects_options_that_do_not_fit(own: OwnServers, symptom: str) -> None:
    with pytest.raises(DeadheatError) as caught:
        own.with_workload(RACE)[0].contenders((), RACE)
    assert str(caught.value).startswith(symptom)


def test_several_commands_have_the_names_that_they_are_given() -> None:
    commands = [("python3", "{port}"), ("python3", "{port}", "-x"), ("sh", "{port}")]
    own = OwnServers(commands, ["http://127.0.0.1:8080/"], ["old", "new"])
    names = [each.name for each in own.contenders(("sh",), RACE)]
    assert names == ["old", "new", "sh:own", "127.0.0.1:8080"]
    same = OwnServers(commands).contenders((), RACE)
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
    ("option", "request_given"),
    [
        ("--method", OwnRequest(method="PUT")),
        ("--body", OwnRequest(body="")),
        ("--expect-status", OwnRequest(status=201)),
    ],
)
def test_bug_an_error_about_a_request_named_a_header_that_was_not_given(
    option: str, request_given: OwnRequest
) -> None:
    with pytest.raises(DeadheatError, match=f"^{option}: expected a server of your own"):
        OwnServers(request=request_given).with_workload(RACE)
    own = OwnServers(urls=["http://h/a", "http://h/b"], request=request_given)
    with pytest.raises(DeadheatError, match=f"^{option}: one request for several paths"):
        own.with_workload(RACE)


def test_bug_a_url_with_a_name_that_is_taken_was_called_given_twice() -> None:
    with pytest.raises(DeadheatError, match="--name 'go-gin': another server has this name"):
        OwnServers(urls=["http://h/"], names=["go-gin"]).contenders(("go-gin",), RACE)
    with pytest.raises(DeadheatError, match="--url 'http://h/' is given twice"):
        OwnServers(urls=["http://h/", "http://h/"]).contenders((), RACE)


def test_fills_all_placeholders_except_the_port(tmp_path: Path) -> None:
    manifest = MANIFEST.replace('"{{host}}:{{port}}"', '"{{build}}/app", "{{port}}", "{{workers}}"')
    manifest += 'env = {{ THREADS = "{{threads}}", LISTEN = "{{host}}:{{port}}" }}\nthreads = 3\n'
    manifest += 'stop_signal = "SIGINT"\nstop_s = 2\n'
    server = made_server(tmp_path, manifest=manifest)
    built = Built(server, "key", tmp_path / "build", "", 0.0, {}, {}, cached=True)
    contender = contender_from(selection(server, workers=4), built)
    assert contender.name == "made:w4"
    assert contender.role == "contender"
    assert contender.command_at(80) == ("made", f"{tmp_path}/build/app", "80", "4")
    assert contender.env_at(80) == {"THREADS": "3", "LISTEN": "127.0.0.1:80"}
    assert contender.cwd == str(tmp_path / "build")
    assert (contender.workers, contender.threads, contender.ready_s) == (4, 3, 5)
    assert (contender.stop_signal, contender.stop_s) == ("SIGINT", 2)


def test_controls_are_a_null_server_and_a_reference() -> None:
    null, reference = controls(Engine("deadheat-load"))
    assert null.name == NULL_SERVER
    assert null.command_at(80)[-4:] == ("--null-server", "80", "--null-work", "0")
    assert int(reference.command_at(80)[-1]) > 0
    assert {null.role, reference.role} == {"control"}


CASES = json.loads((Path(__file__).parents[1] / "url_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["url"]))
def test_a_url_is_what_the_engine_takes_it_for(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"]) as caught:
            ServerUrl.parse(case["url"])
        with pytest.raises(DeadheatError) as shown:
            parsed_url(case["url"])
        said = f"{caught.value} {shown.value} {shown.value.hint}"
        assert "secret" not in said, "a password is not shown"
        return
    if "socket" in case:  # the engine alone loads it
        with pytest.raises(ValueError, match="a Unix socket"):
            ServerUrl.parse(case["url"])
        return
    url = ServerUrl.parse(case["url"])
    assert (url.host, url.port, url.target) == (case["host"], case["port"], case["target"])


def test_urls_are_one_server_if_they_differ_in_spelling_alone() -> None:
    names = [ServerUrl.parse(f"http://{text}").name for text in ("A:80/", "a", "a:", "a:080#b")]
    assert {*names} == {"a:80"}
    paths = {ServerUrl.parse(f"http://a/e{end}").name for end in ("", "/", "?a", "?b")}
    assert len(paths) == 4
