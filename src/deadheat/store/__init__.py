"""Every run, stored whole in one SQLite file."""

from deadheat.store.reading import StoredRun, read_run
from deadheat.store.records import Gate, TrialPlace, TrialRecord, Unit
from deadheat.store.store import Store, StoreError, home
from deadheat.store.writer import Writer

__all__ = [
    "Gate",
    "Store",
    "StoreError",
    "StoredRun",
    "TrialPlace",
    "TrialRecord",
    "Unit",
    "Writer",
    "home",
    "read_run",
]
