"""The replays that run in two namespaces: their servers stand for published rows."""

import os
from pathlib import Path

import pytest

from bench.two_namespaces import REPLAYS, on_cpus
from deadheat.campaign.schedule import line_up
from deadheat.catalog import load_catalog
from deadheat.protocol import load_protocol
from deadheat.protocol.figures import shipped_figures

HERE = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", REPLAYS)
def test_every_server_has_a_published_row(name: str) -> None:
    protocol = load_protocol(HERE, name)
    assert protocol.origin is not None
    assert protocol.generator == REPLAYS[name].generator
    figures = shipped_figures(HERE, protocol.origin.figures)
    servers = REPLAYS[name].servers
    lineup = line_up(protocol, load_catalog(HERE), figures, only=servers)
    assert {chosen.server.name for chosen in lineup.selections} == {*servers}


def test_the_cpus_are_given_back() -> None:
    before = os.sched_getaffinity(0)
    with on_cpus({min(before)}):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before
