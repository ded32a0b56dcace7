"""URLs, by the cases that the load engine is tested with too."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.errors import DeadheatError
from deadheat.measure.own_servers import parsed_url
from deadheat.measure.url import ServerUrl

CASES = json.loads((Path(__file__).parents[1] / "url_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["url"]))
def test_a_url_is_what_the_engine_takes_it_for(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"]) as caught:
            ServerUrl.parse(case["url"])
        assert "secret" not in str(caught.value)
        return
    if "socket" in case:  # the engine alone loads it
        with pytest.raises(ValueError, match="a Unix socket"):
            ServerUrl.parse(case["url"])
        return
    url = ServerUrl.parse(case["url"])
    assert (url.host, url.port, url.target) == (case["host"], case["port"], case["target"])


def test_bug_two_urls_that_differ_in_their_query_were_one_server() -> None:
    names = {ServerUrl.parse(f"http://127.0.0.1:80/e{end}").name for end in ("", "/", "?a", "?b")}
    assert len(names) == 4


@pytest.mark.parametrize("case", [c for c in CASES if "error" in c], ids=lambda c: repr(c["url"]))
def test_an_error_of_the_command_line_shows_no_password(case: dict[str, Any]) -> None:
    with pytest.raises(DeadheatError) as caught:
        parsed_url(case["url"])
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_two_spellings_of_one_address_are_one_server() -> None:
    names = {ServerUrl.parse(f"http://{text}").name for text in ("A:80/", "a", "a:", "a:080#b")}
    assert names == {"a:80"}
