"""Every run, stored whole in one SQLite file."""

from deadheat.store.conclusion import BuildFacts, Capacity, Conclusion, ImportedFrom, Resumption
from deadheat.store.reading import StoredRun, read_run
from deadheat.store.records import Gate, TrialPlace, TrialRecord, Unit
from deadheat.store.store import Store
from deadheat.store.writer import Writer

__all__ = [
    "BuildFacts",
    "Capacity",
    "Conclusion",
    "Gate",
    "ImportedFrom",
    "Resumption",
    "Store",
    "StoredRun",
    "TrialPlace",
    "TrialRecord",
    "Unit",
    "Writer",
    "read_run",
]
