"""`Conclusion`: why a run ended, and what happened to it on the way."""

import json
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, Field

from deadheat.catalog.manifest import Strict
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import Decided


class Resumption(Strict):
    """The run went on after `paused_s`. The last three are those of an extension.

    `look` is the last look before, `share` what it spent of the error, and `until_s` when the
    extension of `more_s` ends, in the time of the race.
    """

    at: Annotated[AwareDatetime, Field(strict=False)]
    trials: int  # before it
    paused_s: float
    look: int | None = None
    more_s: float | None = None
    until_s: float | None = None
    share: float | None = None


class DecidedPair(Strict):
    """What an earlier look decided about two contenders at a level."""

    workload: str
    connections: int
    faster: str
    slower: str
    verdict: Annotated[Verdict, Field(strict=False)]


class Capacity(Strict):
    """`rate_per_s` is the highest rate that held, or 0; `above_per_s` the lowest that failed."""

    name: str
    rate_per_s: float
    above_per_s: float | None
    trials: int
    trouble: str | None


class ImportedFrom(Strict):
    """When the run was imported, and the name of the bundle."""

    at: str
    bundle: str


class Conclusion(Strict):
    """All that is known of a run's end. A run under way has what is known from its start."""

    why: str | None = None
    share: float | None = None  # of the error, spent by its look; None: that was no declared one
    look: int | None = None
    race_s: float | None = None  # without builds, and without what was measured after the race
    decided: Annotated[tuple[DecidedPair, ...], Field(strict=False)] = ()  # by earlier looks
    resumed: Annotated[tuple[Resumption, ...], Field(strict=False)] = ()
    missing: dict[str, str] = Field(default={})  # published row -> why none ran
    remarks: Annotated[tuple[str, ...], Field(strict=False)] = ()  # how a replay was fitted
    slo: str | None = None  # of a search for capacity
    capacities: Annotated[tuple[Capacity, ...], Field(strict=False)] = ()
    imported: ImportedFrom | None = None
    folder: str | None = None  # where its command was given; a copy of the run does not have it

    @property
    def share_of_error(self) -> float:
        """What the intervals may spend: all of it if no declared look was taken."""
        return 1.0 if self.share is None else self.share

    @property
    def extensions(self) -> tuple[Resumption, ...]:
        return tuple(each for each in self.resumed if each.more_s is not None)

    @property
    def paused_s(self) -> float:
        """How long the run was not under way before it was resumed, in all."""
        return sum(each.paused_s for each in self.resumed)

    @property
    def last_look(self) -> int | None:
        """The last look that the run or an earlier part of it took."""
        looks = (self.look, *(each.look for each in self.resumed))
        return max((look for look in looks if look is not None), default=None)

    def decided_at(self, workload: str, connections: int) -> Decided:
        """The verdicts of earlier looks at a level, which hold on."""
        return {
            (pair.faster, pair.slower): pair.verdict
            for pair in self.decided
            if (pair.workload, pair.connections) == (workload, connections)
        }

    def changed(self, **values: Any) -> Self:
        return self.model_copy(update=values)

    def without_end(self) -> Self:
        """What is left when the run is resumed."""
        return self.changed(why=None, share=None, look=None, race_s=None, decided=())

    def to_text(self) -> str:
        """As JSON, without what is not known."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True))
