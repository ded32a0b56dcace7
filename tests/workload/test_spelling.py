"""JSON and HTML in any legal spelling; the engine's unit tests hold the same cases."""

import pytest

from deadheat.workload.sample import canonical, is_same_json

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
