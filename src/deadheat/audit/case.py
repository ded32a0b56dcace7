"""What an audit has before it, and the form of what it finds."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from deadheat.audit.beside import Agreement, Level, agree, set_beside
from deadheat.audit.replay import Contender, Replay
from deadheat.protocol.figures import Figure, Figures


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that a published comparison got wrong, or that its figures cannot bear.

    `found` is how it shows, `changes` what follows from it. `rows` is empty where all are meant.
    """

    code: str
    title: str
    rows: tuple[str, ...]
    connections: tuple[int, ...]
    found: str
    changes: str


@dataclass(frozen=True, slots=True)
class Case:
    """A replay beside the published figures; `repetitions` where single ones are published."""

    replay: Replay
    figures: Figures
    repetitions: Figures | None
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, replay: Replay, figures: Figures, repetitions: Figures | None = None) -> "Case":
        return cls(replay, figures, repetitions, set_beside(replay, figures))

    @property
    def running(self) -> dict[str, Contender]:
        """Published row -> contender, for those with a trial."""
        return {one.row: one for one in self.replay.contenders if one.trials}

    @property
    def main(self) -> Level:
        """The level with the most rows in both columns; of equals that of the most detail."""
        return max(
            self.levels,
            key=lambda level: (
                len(level.both),
                sum(
                    one.requests is not None for one in self.figures.at(level.connections).values()
                ),
            ),
        )

    def published_repetitions(self) -> Mapping[tuple[str, int], list[Figure]]:
        """Every single published repetition, by row and level."""
        found: dict[tuple[str, int], list[Figure]] = {}
        for one in self.repetitions.figures if self.repetitions else ():
            found.setdefault((one.row, one.connections), []).append(one)
        return found

    def agreement_without(self, rows: Collection[str]) -> Agreement | None:
        """Rank agreement at the main level when these rows are left out."""
        kept = [line for line in self.main.both if line.row not in rows]
        return agree(
            [line.then_per_s or 0.0 for line in kept], [line.now_per_s or 0.0 for line in kept]
        )


def told_agreement(agreement: Agreement | None) -> str:
    """`tau-b 0.87 [0.80, 0.92] over 22 rows`."""
    if agreement is None:
        return "no rank agreement: fewer than two rows"
    return (
        f"tau-b {agreement.tau_b:.2f} [{agreement.low:.2f}, {agreement.high:.2f}] "
        f"over {agreement.rows} rows"
    )
