from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.lineup import line_up
from deadheat.catalog import Catalog, load_catalog
from deadheat.protocol import Protocol
from deadheat.protocol.figures import Figure, Figures
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


def replay(**values: Any) -> Protocol:
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10],
            "duration_s": 1.0,
            "residency": "alone",
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


def figures(*rows: str) -> Figures:
    return Figures("paper", tuple(Figure(row, 10, 100.0, 1.0, "a page") for row in rows))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "recipes").mkdir()
    for name, row in (("alpha", "Alpha 1.0"), ("beta", "Beta")):
        made_server(tmp_path, name, MANIFEST + PUBLISHED.replace("{row}", row))
    made_server(tmp_path, "gamma")
    return load_catalog(tmp_path)


def test_manifests_say_which_row_they_stand_for(catalog: Catalog) -> None:
    found = line_up(replay(), catalog, figures("Beta", "Alpha 1.0"))
    assert [one.name for one in found.selections] == ["beta:four", "alpha:four"]  # as published
    assert found.labels == {"beta:four": "Beta", "alpha:four": "Alpha 1.0"}
    assert (dict(found.missing), found.strays) == ({}, ())


def test_rows_without_a_server_are_told(catalog: Catalog) -> None:
    found = line_up(replay(), catalog, figures("Beta", "Omega", "Alpha 1.0"))
    assert found.missing == {"Omega": "no server here stands for it"}


def test_a_protocol_may_spell_a_row(catalog: Catalog) -> None:
    spelled = [
        {"server": "gamma", "workers": 2, "label": "Omega"},
        {"server": "delta", "label": "Delta"},
    ]
    found = line_up(replay(contenders=spelled), catalog, figures("Omega", "Delta", "Beta"))
    assert found.labels == {"gamma:w2": "Omega", "beta:four": "Beta"}
    assert found.missing == {"Delta": "there is no server delta"}
    assert found.strays == ("alpha:four: paper has no row 'Alpha 1.0'",)


def test_what_was_not_asked_for_is_missing_and_said_so(catalog: Catalog) -> None:
    found = line_up(replay(), catalog, figures("Beta", "Alpha 1.0"), only={"beta"})
    assert list(found.labels) == ["beta:four"]
    assert found.missing == {"Alpha 1.0": "alpha:four was not asked for"}
