"""docs/replays-settings.csv: where deadheat has what the pages state."""

import csv
import tomllib
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
with (REPOSITORY / "docs" / "replays-settings.csv").open(newline="") as file:
    ROWS = [*csv.DictReader(file)]


def value_at(document: Any, key: str) -> Any:
    """`published ROW` is what differs in that row; `origin.sysctl NAME` a name with dots."""
    if key.startswith("published "):
        (row,) = [each for each in document["published"] if each["row"] == key[10:]]
        return row["differs"]
    path, _, name = key.partition("sysctl ")
    for part in [*path.split("."), *([] if not name else ["sysctl", name])]:
        document = document[part] if part else document
    return document


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['page']}: {row['quoted']}")
def test_what_a_page_states_is_a_setting_or_a_stated_difference(row: dict[str, str]) -> None:
    text = (REPOSITORY / row["file"]).read_text("utf-8")
    value = value_at(tomllib.loads(text), row["key"]) if row["key"] else text
    if isinstance(value, list) and not isinstance(value[0], int):
        assert any(row["holds"] in str(each) for each in value)
    elif isinstance(value, str) and not value.isdigit():
        assert row["holds"] in value
    else:
        assert row["holds"] == str(value)


def test_every_comparison_is_walked() -> None:
    assert {row["page"] for row in ROWS} == {"kzmake-2018", "woo-2016", "landshark-2009"}
