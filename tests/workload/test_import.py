"""Workloads from recorded requests: what is kept, and that no secret is."""

import json
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner, Result

from deadheat.cli import cli
from deadheat.errors import DeadheatError
from deadheat.workload import Workload, load_workload
from deadheat.workload.recorded import (
    Recorded,
    body_without_secrets,
    is_secret_name,
    is_secret_value,
    read_curl,
    read_har,
    workload_text,
)

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
SECRETS = ("s3cr3t-cookie", "s3cr3t-basic", "s3cr3t-query", "s3cr3t-field", "hunter2", JWT)


def entry(url: str, method: str = "GET", **values: Any) -> dict[str, Any]:
    request = {"method": method, "url": url, "headers": []} | values
    answer = {"status": 200, "content": {"mimeType": "application/json; charset=utf-8"}}
    return {"request": request, "response": answer}


def header(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


ENTRIES = [
    entry(
        "http://user:hunter2@shop.test/items?page=2&access_token=s3cr3t-query#top",
        headers=[
            header("Cookie", "id=s3cr3t-cookie"),
            header("Authorization", "Basic s3cr3t-basic"),
            header("X-Api-Key", "s3cr3t-basic"),
            header("X-Trace", JWT),
            header("Accept", "application/json"),
            header("Host", "shop.test"),
            header("Accept-Encoding", "br"),
        ],
    ),
    entry(
        "http://shop.test/orders",
        "POST",
        headers=[header("content-type", "application/json")],
        postData={"mimeType": "application/json", "text": json.dumps(
            {"item": 7, "password": "s3cr3t-field", "by": {"name": "é😀", "token": JWT}}
        )},
    ),
    entry(f"http://shop.test/reset/{JWT}"),
    entry("http://other.test/pixel.gif"),
    entry("http://shop.test/orders/7"),
    entry("http://shop.test/orders/7"),
    entry("data:image/png;base64,AAAA"),
]  # fmt: skip


@pytest.fixture
def har(tmp_path: Path) -> Path:
    path = tmp_path / "shop.har"
    path.write_text(json.dumps({"log": {"entries": ENTRIES}}))
    return path


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli, ["workloads", "import", *words])


def test_writes_a_workload_that_can_be_read(har: Path, tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    ended = invoke(str(har), "-o", str(path))
    assert ended.exit_code == 0, ended.output
    workload = load_workload(tmp_path, str(path))
    first, order, last = workload.requests
    assert (first.verb, first.path, first.headers) == (
        "GET",
        "/items?page=2",
        {"Accept": "application/json"},
    )
    assert json.loads(order.body or "") == {
        "item": 7,
        "password": "removed",
        "by": {"name": "é😀", "token": "removed"},
    }
    assert last.path == "/orders/7"
    assert (first.expect.status, first.expect.media_type) == (200, "application/json")


def test_no_secret_gets_into_the_file_and_the_output_says_what_is_left_out(
    har: Path, tmp_path: Path
) -> None:
    path = tmp_path / "shop.toml"
    said = invoke(str(har), "-o", str(path)).output
    for text in (path.read_text("utf-8"), said):
        assert not [secret for secret in SECRETS if secret in text]
    for what in (
        *("header Cookie", "header Authorization", "header X-Api-Key", "header X-Trace"),
        *("query parameter access_token", "field password of the body", "field token of the body"),
        "the user and password of the URL",
        "a path with what looks like a token (1 request)",
        "not to http://shop.test (1 request)",
        "the same as another one (1 request)",
        "deadheat run --workload",
    ):
        assert what in said
    assert "header Host" not in said


def test_bug_the_next_command_lost_a_folder_with_a_space(har: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my work"
    folder.mkdir()
    said = invoke(str(har), "-o", str(folder / "shop.toml")).output
    assert f"deadheat run --workload '{folder / 'shop.toml'}' --url http://shop.test/" in said


def test_never_overwrites_a_file_nor_takes_the_name_of_the_default_workload(
    har: Path, tmp_path: Path
) -> None:
    path = tmp_path / "shop.toml"
    path.write_text("mine")
    ended = invoke(str(har), "-o", str(path))
    assert isinstance(ended.exception, DeadheatError)
    assert path.read_text() == "mine"
    ended = invoke(str(har), "-o", str(tmp_path / "hello.toml"))
    assert "and not hello.toml" in str(ended.exception)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("{", "expected a HAR file"),
        ("[]", "expected a HAR file"),
        ('{"log": {}}', "it lacks 'entries'"),
        ('{"log": {"entries": []}}', "expected requests by http, got none"),
        ('{"log": {"entries": [{"request": 1}]}}', "expected a HAR file"),
        ('{"log": {"entries": [], "\\ud800": 1}}', "half a surrogate pair"),
        ('{"log": {"entries": [{"comment": ["a\\udfff"]}]}}', "half a surrogate pair"),
    ],
)
def test_rejects_what_is_no_har_file(tmp_path: Path, content: str, cause: str) -> None:
    path = tmp_path / "odd.har"
    path.write_text(content)
    with pytest.raises(DeadheatError, match=cause):
        read_har(path)


@pytest.mark.parametrize(
    ("command", "method", "url", "body"),
    [
        ("curl http://a.test/x", "GET", "http://a.test/x", None),
        ("curl -X delete a.test/x", "DELETE", "http://a.test/x", None),
        ("curl http://a.test -d a=1 --data b=2", "POST", "http://a.test", "a=1&b=2"),
        ("curl -G http://a.test/?z=0 -d a=1", "GET", "http://a.test/?z=0&a=1", None),
        ("curl -sSXPUT --data-raw '@x' a.test", "PUT", "http://a.test", "@x"),
        ("curl -I http://a.test", "HEAD", "http://a.test", None),
        ("curl 'http://a.test' \\\n --data-urlencode 'q=a b'", "POST", "http://a.test", "q=a%20b"),
        ("curl http://a.test --json '{\"a\":1}' -o out", "POST", "http://a.test", '{"a":1}'),
        (r"curl http://a.test --data-raw $'it\'s\n'", "POST", "http://a.test", "it's\n"),
        ("curl --compressed -m 5 --url=http://a.test/y", "GET", "http://a.test/y", None),
    ],
)
def test_reads_curl_commands(command: str, method: str, url: str, body: str | None) -> None:
    recorded = read_curl(command)
    assert (recorded.method, recorded.url, recorded.body) == (method, url, body)


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        ("wget http://a.test", "begins with curl"),
        ("curl", "expected a URL"),
        ("curl 'http://a.test", "cannot be read"),
        ("curl http://a.test http://b.test", "got several"),
        ("curl ftp://a.test", "expected http or https"),
        ("curl http://a.test -d @secrets.json", "reads a file"),
        ("curl http://a.test -F a=b", "-F cannot be imported"),
        ("curl http://a.test -H @headers.txt", "-H @headers.txt reads a file"),
        ("curl http://a.test --header=@headers.txt", "--header @headers.txt reads a file"),
        ("curl http://a.test -d $'\\ud800'", "half a surrogate pair"),
    ],
)
def test_rejects_other_commands(command: str, cause: str) -> None:
    with pytest.raises(DeadheatError, match=cause):
        read_curl(command)


@pytest.mark.parametrize("url", ["http://[]a.test/", "http://[[/", "http://a\u2100b/"])
def test_bug_a_url_that_cannot_be_read_was_a_traceback(url: str) -> None:
    imported = workload_text("x", "x", [read_curl(f"curl '{url}'"), read_curl("curl http://b/")])
    assert (imported.origin, imported.requests) == ("http://b", 1)
    assert imported.left_out == {"a URL that cannot be read": 1}
    assert workload_text("x", "x", [read_curl(f"curl '{url}'")]).requests == 0


def test_a_curl_command_loses_its_credentials(tmp_path: Path) -> None:
    command = (
        "curl 'http://a.test/items?page=2&api_key=s3cr3t-query' -u me:hunter2 -b id=s3cr3t-cookie "
        "-H 'authorization: Bearer s3cr3t-basic' -H 'Accept: text/plain' -A curl/8"
    )
    path = tmp_path / "items.toml"
    ended = invoke("--curl", command, "-o", str(path))
    assert ended.exit_code == 0, ended.output
    assert not [secret for secret in SECRETS if secret in path.read_text() + ended.output]
    (request,) = load_workload(tmp_path, str(path)).requests
    assert (request.path, request.headers) == ("/items?page=2", {"Accept": "text/plain"})


def test_braces_of_a_body_stay_as_they_are() -> None:
    body = '{"query": "{viewer {login}}"}'
    recorded = Recorded(
        "POST", "http://a.test/graphql", [("Content-Type", "application/graphql")], body
    )
    workload = Workload.model_validate(tomllib.loads(workload_text("a", "b", [recorded]).text))
    (sample,) = workload.samples()
    assert sample.body.decode() == body


def test_knows_secret_names_and_values() -> None:
    for name in ("Cookie", "X-Auth-Token", "api_key", "sessionid", "sig", "code"):
        assert is_secret_name(name), name
    for name in ("page", "Accept", "keyboard", "design", "encode", "Content-Type"):
        assert not is_secret_name(name), name
    assert is_secret_value(JWT)
    assert is_secret_value("a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6")
    assert not is_secret_value("application/json, text/plain")


def test_a_body_of_an_unknown_kind_with_a_secret_is_not_kept() -> None:
    assert body_without_secrets("password: x", "text/yaml") == (None, [])
    assert body_without_secrets("item: x", "text/yaml") == ("item: x", [])
    assert body_without_secrets("a=1&pwd=2", "application/x-www-form-urlencoded") == (
        "a=1",
        ["pwd"],
    )


def imported_text(headers: list[tuple[str, str]], url: str = "http://a.test/") -> str:
    return workload_text("a", "b", [Recorded("GET", url, headers)]).text


def test_bug_secrets_in_unusual_headers_were_kept() -> None:
    """No rule tells a key from a name, so only headers that hold none are kept."""
    text = imported_text(
        [
            ("X-Shop", "hunter2hunter2"),
            ("Ocp-Apim-Subscription", "s3cr3t-sub"),
            ("Accept", "application/json"),
            ("Content-Language", "en-US, de-DE"),
            ("X-Version", "2"),
        ]
    )
    assert "hunter2" not in text
    assert "s3cr3t" not in text
    for kept in ("application/json", "en-US, de-DE", "X-Version"):
        assert kept in text


def test_bug_secrets_in_json_inside_a_text_were_kept() -> None:
    inner = json.dumps({"user": {"password": "hunter2"}, "page": 2})
    body = json.dumps({"event": inner, "deep": json.dumps([inner])})
    cleaned, names = body_without_secrets(body, "application/json")
    assert cleaned is not None
    assert "hunter2" not in cleaned
    assert names == ["password", "password"]
    assert json.loads(json.loads(cleaned)["event"])["page"] == 2
    for query in (f"state={quote(inner)}", f"state={quote(quote(inner))}&page=1"):
        assert "hunter2" not in imported_text([], f"http://a.test/?{query}")
