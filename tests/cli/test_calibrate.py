"""`deadheat calibrate`, without its races."""

import pytest

from deadheat.campaign.calibrate import Calibration
from deadheat.cli import calibrate
from deadheat.errors import Unmeasurable
from deadheat.measure.world import World
from deadheat.protocol import Settle, SliceProtocol
from deadheat.store import Store
from tests.cli.conftest import Deadheat
from tests.cli.test_run import HERE


@pytest.mark.parametrize(("words", "budget_s"), [((), 60), (("--budget", "2m"), 120)])
def test_each_race_has_the_budget(
    words: tuple[str, ...], budget_s: float, deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols: list[SliceProtocol] = []

    def seen(_: World, __: Store, protocol: SliceProtocol, *___: object) -> Calibration:
        protocols.append(protocol)
        raise Unmeasurable("seen")

    monkeypatch.setenv("DEADHEAT_CATALOG", str(HERE))
    monkeypatch.setattr(calibrate, "calibrate", seen)
    assert "seen" in deadheat("calibrate", *words).err
    (protocol,) = protocols
    assert isinstance(protocol.stopping, Settle)
    assert protocol.stopping.budget_s == budget_s
