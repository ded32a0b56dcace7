"""What the user brings to a race: `deadheat.cli.own`."""

import sys
from pathlib import Path

from deadheat.campaign.lifecycle import Resident
from deadheat.campaign.racer import Racer
from deadheat.cli.own import own_racers
from deadheat.protocol import Protocol

PROTOCOL = Protocol.model_validate(
    {
        "name": "made",
        "about": "For a test.",
        "connections": [1],
        "duration_s": 1.0,
        "warmup": {"kind": "none"},
        "stopping": {"kind": "fixed", "repetitions": 1},
    }
)


def test_the_python_of_a_virtual_environment_stays_what_it_is(tmp_path: Path) -> None:
    """Regression: its link was followed, and the interpreter behind it had none of the packages."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    (one,) = own_racers([str(link), "app.py", "{port}"], (), (), PROTOCOL)
    assert one.command == (str(link), "app.py", "{port}")


def test_a_query_belongs_to_what_is_asked() -> None:
    """Regression: whether it answers was asked of the path alone."""
    url = "http://127.0.0.1:8080/search?q=x"
    racer = Racer("own", "rival", (), any_body=True, url=url)
    assert Resident(racer, "", 8080, "", 0.0).path == "/search?q=x"
