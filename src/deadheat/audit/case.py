"""The input of an audit."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from deadheat.audit.beside import Agreement, Level, agree, set_beside
from deadheat.audit.replay import Contender, Replay
from deadheat.protocol.figures import Figure, Figures
from deadheat.report.model.defect import Defect

__all__ = ["Case", "Defect", "agreement_text"]


@dataclass(frozen=True, slots=True)
class Case:
    """A replay and the published figures; `repetitions` if those are published too."""

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
        return {
            contender.row: contender for contender in self.replay.contenders if contender.trials
        }

    @property
    def main(self) -> Level:
        """The level with the most rows in both columns, then with the most detail."""
        return max(
            self.levels,
            key=lambda level: (
                len(level.both),
                sum(
                    figure.requests is not None
                    for figure in self.figures.at(level.connections).values()
                ),
            ),
        )

    def published_repetitions(self) -> Mapping[tuple[str, int], list[Figure]]:
        """All published repetitions, by row and level."""
        by_row_and_level: dict[tuple[str, int], list[Figure]] = {}
        for figure in self.repetitions.figures if self.repetitions else ():
            by_row_and_level.setdefault((figure.row, figure.connections), []).append(figure)
        return by_row_and_level

    def agreement_without(self, rows: Collection[str]) -> Agreement | None:
        """Rank agreement at the main level without these rows."""
        kept = [line for line in self.main.both if line.row not in rows]
        return agree(
            [line.then_per_s or 0.0 for line in kept], [line.now_per_s or 0.0 for line in kept]
        )


def agreement_text(agreement: Agreement | None) -> str:
    """`tau-b 0.87 [0.80, 0.92] over 22 rows`."""
    if agreement is None:
        return "no rank agreement: fewer than two rows"
    return (
        f"tau-b {agreement.tau_b:.2f} [{agreement.low:.2f}, {agreement.high:.2f}] "
        f"over {agreement.rows} rows"
    )
