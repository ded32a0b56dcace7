"""Every run, stored whole in one SQLite file."""

from deadheat.store.json_columns import BuildFacts, Capacity, Conclusion, ImportedFrom, Resumption
from deadheat.store.reading import StoredRun, read_run
from deadheat.store.rows import Gate, TrialPlace, TrialRecord, Unit
from deadheat.store.store import Store, Writer

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
