from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.schedule import line_up
from deadheat.catalog import Catalog, load_catalog
from deadheat.protocol import AloneProtocol
from deadheat.protocol.figures import Figure, PublishedFigures
from tests.build.made import MANIFEST, made_server

PUBLISHED = """
[settings.four]
why = "as published"
workers = 4

[[published]]
protocol = "paper"
row = "{row}"
setting = "four"
"""


def replay(**values: Any) -> AloneProtocol:
    return AloneProtocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10],
            "duration_s": 1.0,
            "kind": "alone",
            "warmup": {"kind": "none"},
            "stopping": {"kind": "fixed", "repetitions": 3},
            "origin": {
                "figures": "paper",
                "command": "wrk",
                "body": "Hello",
                "client_host": "same",
                "server": "a machine",
                "sources": ["a page"],
            },
            **values,
        }
    )


def figures(*rows: str) -> PublishedFigures:
    return PublishedFigures("paper", tuple(Figure(row, 10, 100.0, 1.0, "a page") for row in rows))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "recipes").mkdir()
    for name, row in (("alpha", "Alpha 1.0"), ("beta", "Beta")):
        made_server(tmp_path, name, MANIFEST + PUBLISHED.replace("{row}", row))
    made_server(tmp_path, "gamma")
    return load_catalog(tmp_path)


def test_manifests_assign_published_rows(catalog: Catalog) -> None:
    lineup = line_up(replay(), catalog, figures("Beta", "Alpha 1.0"))
    assert [selection.name for selection in lineup.selections] == [
        "beta:four",
        "alpha:four",
    ]  # as published
    assert lineup.labels == {"beta:four": "Beta", "alpha:four": "Alpha 1.0"}
    assert (dict(lineup.missing), lineup.strays) == ({}, ())


def test_reports_rows_without_a_server(catalog: Catalog) -> None:
    lineup = line_up(replay(), catalog, figures("Beta", "Omega", "Alpha 1.0"))
    assert lineup.missing == {"Omega": "no server here"}


def test_protocol_may_assign_a_row(catalog: Catalog) -> None:
    assigned = [
        {"server": "gamma", "workers": 2, "label": "Omega"},
        {"server": "delta", "label": "Delta"},
    ]
    lineup = line_up(replay(contenders=assigned), catalog, figures("Omega", "Delta", "Beta"))
    assert lineup.labels == {"gamma:w2": "Omega", "beta:four": "Beta"}
    assert lineup.missing == {"Delta": "no server delta"}
    assert lineup.strays == ("alpha:four: paper has no row 'Alpha 1.0'",)


def test_unselected_row_is_missing_with_the_reason(catalog: Catalog) -> None:
    lineup = line_up(replay(), catalog, figures("Beta", "Alpha 1.0"), only={"beta"})
    assert list(lineup.labels) == ["beta:four"]
    assert lineup.missing == {"Alpha 1.0": "alpha:four is not selected"}
