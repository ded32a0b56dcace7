"""Gates: every doubt about a trial is one typed check with its reading and advice."""

from collections.abc import Sequence

from deadheat.campaign.world import World
from deadheat.host import Sample
from deadheat.load import LoadResult, LoadSpec
from deadheat.store import Gate

LITTLE_ERROR_MAX = 0.05
CLIENT_SHARE_MAX = 0.80
CEILING_SHARE_MAX = 0.70
STEAL_SHARE_MAX = 0.01


def judge(
    world: World,
    spec: LoadSpec,
    result: LoadResult,
    samples: Sequence[Sample],
    ceiling_per_s: float | None,
) -> list[Gate]:
    """Every gate that can be read of this trial. A trial that fails one is shown and not ranked."""
    return []
