"""Every run, stored whole in one SQLite file."""

from deadheat.store.error import StoreError
from deadheat.store.reading import StoredRun, read_run
from deadheat.store.records import Gate, TrialPlace, TrialRecord, Unit
from deadheat.store.store import Store, home
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
