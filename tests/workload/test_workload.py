"""Workloads: read strictly, drawn from a seed, and shown on the wire."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deadheat.catalog import FileFault, load_catalog
from deadheat.errors import DeadheatError
from deadheat.workload import SampleRequest, Workload, load_workload, workload_names
from deadheat.workload.model import wire
from deadheat.workload.sample import canonical, is_same_json

HERE = Path(__file__).resolve().parents[2]
SMALL = """\
name = "small"
about = "The smallest workload."
draws = 3

[variables]
id = { min = 1, max = 9 }
data = { letters = 4 }

[[requests]]
path = "/users/{id}"
expect = { body = "user {id}" }

[[requests]]
path = "/upload"
body = '{"data": "{data}"}'
expect = { status = 201, body = "{body.length} {body.crc32}" }

[[checks]]
about = "an unknown path"
path = "/none"
expect = { status = 404 }
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "workloads").mkdir()
    write(tmp_path, SMALL)
    return tmp_path


def write(root: Path, text: str) -> None:
    (root / "workloads" / "small.toml").write_text(text)


def test_every_workload_of_a_manifest_exists_and_hello_is_the_first() -> None:
    assert workload_names(HERE)[0] == "hello"
    named = {
        name for server in load_catalog(HERE).servers.values() for name in server.manifest.workloads
    }
    assert named <= set(workload_names(HERE))
    assert len(named) > 1


def test_a_sample_has_the_same_values_in_request_and_answer(root: Path) -> None:
    small = load_workload(root, "small")
    for read, sent in zip(small.samples(5)[::2], small.samples(5)[1::2], strict=True):
        assert read.expected_body == b"user " + read.path.removeprefix("/users/").encode()
        assert sent.method == "POST"
        assert len(sent.body) == len('{"data": "abcd"}')
        assert sent.expected_body is not None
        assert sent.expected_body.startswith(b"16 ")
    assert small.samples(5) == small.samples(5), "of the same seed"
    assert len({sample.path for sample in small.samples(20)}) > 3


def test_the_checksum_is_crc_32() -> None:
    workload = Workload.model_validate(
        {
            "name": "a",
            "about": "b",
            "requests": [{"path": "/", "body": "123456789", "expect": {"body": "{body.crc32}"}}],
        }
    )
    assert workload.samples()[0].expected_body == b"cbf43926"


def test_the_engine_gets_requests_without_what_only_verification_reads(root: Path) -> None:
    write(root, SMALL.replace('body = "user {id}" }', 'body = "user {id}", after_ms = 5 }'))
    given = load_workload(root, "small").for_engine()
    assert given["requests"][0] == {
        "path": "/users/{id}",
        "headers": {},
        "expect": {"status": 200, "body": "user {id}"},
    }
    assert given["variables"] == {"id": {"min": 1, "max": 9}, "data": {"letters": 4}}
    assert (given["draws"], given["seed"]) == (3, 1)
    assert "checks" not in given


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('about = "The', 'abuot = "The', r"small.toml:2: abuot: unknown key"),
        ('name = "small"', 'name = "other"', r"small.toml:1: name: expected the name of the file"),
        ("draws = 3", "draws = 0", r"small.toml:3: draws: .*greater than or equal to 1"),
        ("max = 9", "max = 0", r"small.toml:6: variables.id: expected \{ min = A"),
        ("letters = 4", "letters = 4, max = 1", r"small.toml:7: variables.data: expected"),
        ("/users/{id}", "users/{id}", r"small.toml:10: requests.0.path: expected a path that"),
        ("/users/{id}", "/us ers/{id}", r"small.toml:10: requests.0.path: expected blanks"),
        ("/users/{id}", "/users/{ids}", r"requests\[0\]\.path: unknown variable \{ids\}"),
        ("/upload", "/{body.length}", r"\{body.length\} belongs into expect.body"),
        ("status = 404", "status = 99", r"small.toml:21: checks.0.expect.status"),
        (
            'body = "user {id}"',
            'body = "user {id}", json = "1"',
            r"small.toml:11: requests.0.expect: expected one of body, json and html",
        ),
        ('body = "user {id}"', 'json = "{ids}"', r"requests\[0\]\.expect\.json: unknown variable"),
        ("draws = 3", "draws = 60000", r"draws = 60000: all bodies have"),
    ],
)
def test_rejects_a_wrong_workload_with_file_and_line(
    root: Path, before: str, after: str, fault: str
) -> None:
    text = SMALL.replace(before, after)
    if "60000" in after:
        text = text.replace("letters = 4", "letters = 40000")
    assert text != SMALL
    write(root, text)
    with pytest.raises(FileFault, match=fault):
        load_workload(root, "small")


def test_an_unknown_workload_suggests_the_nearest(root: Path) -> None:
    with pytest.raises(DeadheatError, match="no workload 'smal'") as caught:
        load_workload(root, "smal")
    assert caught.value.hint == "did you mean small?"


@pytest.mark.parametrize(
    ("status", "media_type", "body", "fault"),
    [
        (200, "Text/Plain; charset=utf-8", b"right", None),
        (500, "text/plain", b"right", "expected status 200, got 500"),
        (200, "text/html", b"right", "expected media type text/plain, got text/html"),
        (200, "text/plain", b"wrong", "expected the body 'right', got 'wrong'"),
        (200, "text/plain", b"x" * 99, "(99 bytes)"),
    ],
)
def test_a_sample_says_what_is_wrong_with_an_answer(
    status: int, media_type: str, body: bytes, fault: str | None
) -> None:
    sample = SampleRequest("GET", "/", media_type="text/plain", expected_body=b"right")
    reported = sample.fault(status, media_type, body)
    assert (fault or "") in (reported or "")
    assert (fault is None) == (reported is None)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "json",
            lambda body: body.replace(b"4711", b"4711.0"),
            lambda body: body.replace(b"4711", b'"4711"'),
        ),
        (
            "page",
            lambda body: body.replace(b"&#x27;", b"'"),
            lambda body: body.replace(b"&lt;", b"<"),
        ),
    ],
)
def test_a_server_may_choose_the_spelling_only(
    name: str, right: Callable[[bytes], bytes], wrong: Callable[[bytes], bytes]
) -> None:
    (sample,) = load_workload(HERE, name).samples()
    body = sample.shown_body or b""
    media_type = sample.media_type or ""
    assert right(body) != body
    assert sample.fault(200, media_type, right(body)) is None
    reported = sample.fault(200, media_type, wrong(body)) or ""
    assert "expected the" in reported
    assert len(reported) < 300


def test_an_echo_with_another_id_is_wrong() -> None:
    first, second = load_workload(HERE, "echo").samples(2)
    assert len(first.body) == len(second.body) == 1024
    assert first.fault(200, "application/json", (first.shown_body or b"")) is None
    assert first.fault(200, "application/json", (second.shown_body or b"")) is not None
    assert first.fault(200, "application/json", first.body) is not None, "not seen"


def test_the_page_is_64_kib_and_holds_what_a_browser_would_run() -> None:
    (sample,) = load_workload(HERE, "page").samples()
    assert abs(len(sample.shown_body or b"") - 65536) < 655
    assert (sample.expected_html or "").count("&lt;script&gt;") == 40


def test_bug_a_sentence_ended_with_two_periods(root: Path) -> None:
    assert "The smallest workload.\n" in wire(load_workload(root, "small"))


def test_the_document_shows_every_workload_on_the_wire() -> None:
    page = (HERE / "docs" / "workloads.md").read_text()
    for name in workload_names(HERE):
        assert wire(load_workload(HERE, name)).rstrip() in page, "run `make figures`"


PERSON = '{"id": 7, "name": "Z\\u00fcrich", "list": [1.5, null]}'
PAGE = '<td>&lt;b&gt; &amp; "it\'s" +</td>'


@pytest.mark.parametrize(
    "other",
    [
        '{"id":7,"name":"Zürich","list":[1.5,null]}',
        '{ "list": [1.50, null],\n "name": "Z\\u00FCrich", "id": 7.0 }\n',
    ],
)
def test_json_may_be_spelled_in_any_way(other: str) -> None:
    assert is_same_json(other, PERSON)


@pytest.mark.parametrize(
    "other",
    [
        '{"id": 2, "list": [1, 2]}',
        '{"id": "1", "list": [1, 2]}',
        '{"id": true, "list": [1, 2]}',
        '{"id": 1, "list": [2, 1]}',
        '{"id": 1, "list": [1, 2], "more": null}',
        '{"id": 1, "id": 1, "list": [1, 2]}',
        '{"id": 1}',
        '{"id": NaN, "list": [1, 2]}',
        "[" * 100_000,
        "",
    ],
)
def test_json_of_another_value_is_not_the_same(other: str) -> None:
    assert not is_same_json(other, '{"id": 1, "list": [1, 2]}')


@pytest.mark.parametrize(
    "other",
    [
        "<td>&#60;b&#x3E; &#38; &quot;it&#39;s&quot; &#43;</td>",
        "<td>&#x3c;b&#062; &#x26; &#34;it&apos;s&#x22; +</td>",
        ' <td>&lt;b&gt; &amp; "it&#x27;s" +</td>\n',
    ],
)
def test_legal_escapes_are_equal(other: str) -> None:
    assert canonical(other) == canonical(PAGE)


@pytest.mark.parametrize(
    "other",
    [
        '<td><b> &amp; "it\'s" +</td>',
        '<td>&lt;b> &amp; "it\'s" +</td>',
        '<td>&lt;b&gt; & "it\'s" +</td>',
        '<td>&amp;lt;b&amp;gt; &amp;amp; "it\'s" +</td>',
        '<td>&lt;b&gt; &amp;  "it\'s" +</td>',
    ],
)
def test_missing_and_double_escapes_are_not(other: str) -> None:
    assert canonical(other) != canonical(PAGE)


@pytest.mark.parametrize("text", ["&", "a & b; c", "&;", "&#;", "&#x110000;", "&#xd800;", "&nbsp;"])
def test_what_is_no_reference_stays(text: str) -> None:
    assert canonical(text) == text
