"""Every run, kept whole in one SQLite file."""

from deadheat.store.records import Gate, TrialRecord, Unit
from deadheat.store.store import Store, StoreError, home
from deadheat.store.writer import Writer

__all__ = ["Gate", "Store", "StoreError", "TrialRecord", "Unit", "Writer", "home"]
