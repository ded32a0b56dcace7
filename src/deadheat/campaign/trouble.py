"""Reports what went wrong with trials while a campaign runs."""

from deadheat.campaign.past import level_of
from deadheat.events import Event, Listener
from deadheat.measure.gates.pooled import failures
from deadheat.store import TrialRecord


class Troubles:
    """Every failed trial is an event, and each gate the first time it fails: the report has all."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._reported: set[str] = set()

    def report(self, name: str, record: TrialRecord) -> None:
        level = level_of(record)
        if record.state == "failed":
            text = f"{name} at {level}: {record.reason}"
            self._listen(Event(text, trouble=True))
        for gate in failures(record):
            if gate.code not in self._reported:
                self._reported.add(gate.code)
                text = f"{name} at {level}: check {gate.code} failed: {gate.advice}"
                self._listen(Event(text, trouble=True))
