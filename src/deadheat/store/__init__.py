"""Every run, stored whole in one SQLite file."""

from deadheat.store.conclusion import Capacity, Conclusion, Imported, Resumption
from deadheat.store.parsing import StoreError
from deadheat.store.reading import StoredRun, read_run
from deadheat.store.records import Gate, TrialPlace, TrialRecord, Unit
from deadheat.store.store import Store, home
from deadheat.store.writer import Writer

__all__ = [
    "Capacity",
    "Conclusion",
    "Gate",
    "Imported",
    "Resumption",
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
