"""URLs, by the cases that the load engine is tested with too."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.measure.url import ServerUrl

CASES = json.loads((Path(__file__).parents[1] / "url_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["url"]))
def test_a_url_is_what_the_engine_takes_it_for(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"]) as caught:
            ServerUrl.parse(case["url"])
        assert "secret" not in str(caught.value)
        return
    url = ServerUrl.parse(case["url"])
    assert (url.host, url.port, url.target) == (case["host"], case["port"], case["target"])


def test_bug_two_urls_that_differ_in_their_query_were_one_server() -> None:
    names = {ServerUrl.parse(f"http://127.0.0.1:80/e{end}").name for end in ("", "/", "?a", "?b")}
    assert len(names) == 4
