"""How long a slice of each contender is: longer where its connections need it."""

from collections import defaultdict

from deadheat.campaign.past import level_of
from deadheat.measure.warm_instance import WarmInstance
from deadheat.protocol import Protocol
from deadheat.store import TrialRecord
from deadheat.workload import Level

ANSWERS_A_CONNECTION = 3.0  # in a slice, so that a slow server's rate is not a matter of luck
SLICE_S_MAX = 3.0
FACTOR_MAX = 4  # a server that leaves connections without an answer for longer fails its trials


class SliceLengths:
    """The protocol's length, or what the rate says that all connections need.

    A server that does not serve its connections by turns needs more. Spring Boot has a thread for
    each, and they wait for one CPU: some connections got no answer in 80 ms. So slices are twice as
    long after a trial in which a connection got none, and twice as long again after the next one.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._factors: dict[tuple[str, Level], int] = defaultdict(lambda: 1)

    def duration_s(self, instance: WarmInstance, level: Level) -> float:
        """Seconds that are measured in a slice."""
        rate_per_s = instance.warmed_on(level.workload).rate_per_s
        needed_s = ANSWERS_A_CONNECTION * level.connections / rate_per_s if rate_per_s > 0 else 0.0
        usual_s = max(self._protocol.duration_s, needed_s)
        factor = self._factors[instance.name, level]
        return round(min(factor * usual_s, max(SLICE_S_MAX, self._protocol.duration_s)), 3)

    def note(self, name: str, record: TrialRecord) -> None:
        """After a trial of the contender with this name."""
        if any(gate.code == "served" and not gate.passed for gate in record.gates):
            level = level_of(record)
            self._factors[name, level] = min(2 * self._factors[name, level], FACTOR_MAX)
